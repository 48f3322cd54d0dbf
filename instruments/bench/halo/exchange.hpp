// SPDX-License-Identifier: BSD-3-Clause
// A halo of one strategy.
#pragma once

#include <omnipgas/halo.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/message.hpp"
#include "harness/must.hpp"

namespace bench::halo {

// By OMPL_HALO_*; what is none of them gets a number that is refused.
inline constexpr std::array kStrategies{"double-buffer",  "single",       "acked",   "mpi",
                                        "mpi-persistent", "mpi-neighbor", "mpi-put", "auto"};

inline int32_t number_of(const std::string& strategy) {
  return static_cast<int32_t>(std::ranges::find(kStrategies, strategy) - kStrategies.begin());
}

// What a rank sends to another and hears of it, in bytes.
struct Neighbor {
  uint32_t rank = 0;
  std::size_t sends = 0;
  std::size_t receives = 0;
};

class Exchange {
 public:
  Exchange(const std::string& strategy, uint32_t rank, const std::vector<Neighbor>& neighbors)
      : rank_(rank), neighbors_(neighbors) {
    std::vector<ompl_halo_neighbor> lists;
    for (const Neighbor& n : neighbors_) {
      ompl_halo_neighbor list{};
      list.rank = n.rank;
      list.send_first = vector_.size();
      list.send_count = n.sends;
      list.receive_count = n.receives;
      lists.push_back(list);
      vector_.resize((vector_.size() + n.sends + kLine - 1) / kLine * kLine);
      first_.push_back(list.send_first);
    }
    vector_.resize(std::max(vector_.size(), kLine));
    ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
    config.element = 1;
    config.strategy = number_of(strategy);
    if (ompl_halo_create(&config, lists.data(), lists.size(), &halo_) != OMPL_OK)
      refusal_ = ompl_error_detail();
  }
  ~Exchange() { ompl_halo_destroy(halo_); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Why there is no such halo on any rank; nothing if there is.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  void run() {
    const void* const vectors[] = {vector_.data()};
    must(ompl_halo_start(OMPL_CTX_DEFAULT, halo_, vectors, OMPL_FOREVER), "ompl_halo_start");
    must(ompl_halo_wait(OMPL_CTX_DEFAULT, halo_, OMPL_FOREVER), "ompl_halo_wait");
  }

  // The same with content. What landed wrong; nothing if all is right.
  std::optional<std::string> run_checked(uint64_t number) {
    for (std::size_t i = 0; i < neighbors_.size(); ++i)
      payload::write_message(vector_.data() + first_[i], neighbors_[i].sends, rank_, neighbors_[i].rank,
                             number);
    run();
    for (std::size_t i = 0; i < neighbors_.size(); ++i) {
      const Neighbor& n = neighbors_[i];
      const auto* const landed = static_cast<const std::byte*>(ompl_halo_data(halo_, i, 0));
      if (auto wrong = payload::wrong_message(landed, n.receives, n.rank, rank_, number)) return wrong;
    }
    return std::nullopt;
  }

  // See ompl_halo_describe().
  [[nodiscard]] std::string describe() const {
    std::string text(ompl_halo_describe(halo_, nullptr, 0), '\0');
    ompl_halo_describe(halo_, text.data(), text.size() + 1);
    return text;
  }

 private:
  static constexpr std::size_t kLine = 64;

  uint32_t rank_;
  std::vector<Neighbor> neighbors_;
  std::vector<std::byte> vector_;   // what goes to each, one behind the other
  std::vector<std::size_t> first_;  // where that of each begins
  ompl_halo* halo_ = nullptr;
  std::string refusal_;
};

}  // namespace bench::halo
