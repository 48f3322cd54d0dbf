// SPDX-License-Identifier: BSD-3-Clause
// A virtual control queue (VCQ) of uTofu, and puts in strong order over it to the other ranks'. For one thread at a time.
// Every function throws std::runtime_error.
#pragma once

#include <utofu.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/gathering.hpp"

namespace bench {

inline void check(int code, const char* what) {
  if (code != UTOFU_SUCCESS)
    throw std::runtime_error(std::string(what) + ": uTofu's return code " + std::to_string(code));
}

inline std::string utofu_version() {
  int major = 0;
  int minor = 0;
  utofu_query_utofu_version(&major, &minor);
  return "uTofu " + std::to_string(major) + "." + std::to_string(minor);
}
inline std::string utofu_transport(std::size_t tnis) {
  return std::to_string(tnis) + " TNIs (never run on hardware)";
}

class alignas(128) Vcq {
 public:
  // Collective; `memory` is what the other ranks may write.
  void open(utofu_tni_id_t tni, std::byte* memory, std::size_t bytes, const Gathering& ranks) {
    check(utofu_query_onesided_caps(tni, &limits_), "utofu_query_onesided_caps");
    check(utofu_create_vcq(tni, UTOFU_VCQ_FLAG_EXCLUSIVE, &handle_), "utofu_create_vcq");
    check(utofu_reg_mem(handle_, memory, bytes, 0, &own_), "utofu_reg_mem");
    Card mine{.vcq = 0, .memory = own_};
    check(utofu_query_vcq_id(handle_, &mine.vcq), "utofu_query_vcq_id");
    cards_ = ranks.all(mine);
  }
  ~Vcq() {
    if (own_ != 0) utofu_dereg_mem(handle_, own_, 0);
    if (handle_ != 0) utofu_free_vcq(handle_);
  }

  // From `local` at place `from` of the own memory. Longer data are read by the interconnect: until it has them.
  void put(int rank, std::byte* local, std::size_t from, std::size_t to, std::size_t bytes) {
    const Card& peer = card_of(rank);
    if (bytes <= limits_->max_piggyback_size) {
      post("utofu_put_piggyback", [&] {
        return utofu_put_piggyback(handle_, peer.vcq, local, peer.memory + to, bytes, 0, kOrdered,
                                   nullptr);
      });
      return;
    }
    for (std::size_t done = 0, now = 0; done < bytes; done += now) {
      now = std::min(bytes - done, limits_->max_putget_size);
      post("utofu_put", [&] {
        return utofu_put(handle_, peer.vcq, own_ + from + done, peer.memory + to + done, now, 0,
                         kOrdered | UTOFU_ONESIDED_FLAG_TCQ_NOTICE, nullptr);
      });
      while (!took_report()) continue;
    }
  }
  template <class Word>
  void put_word(int rank, Word value, std::size_t to, unsigned long flags = 0) {
    const Card& peer = card_of(rank);
    post("utofu_put_piggyback8", [&] {
      return utofu_put_piggyback8(handle_, peer.vcq, value, peer.memory + to, sizeof value, 0,
                                  kOrdered | flags, nullptr);
    });
  }
  // Until another side has what was put there, the last of which asked for this.
  void await_notice() {
    utofu_mrq_notice notice;
    int code = UTOFU_ERR_NOT_FOUND;
    while (code == UTOFU_ERR_NOT_FOUND) code = utofu_poll_mrq(handle_, 0, &notice);
    check(code, "utofu_poll_mrq");
  }

 private:
  static constexpr unsigned long kOrdered = UTOFU_ONESIDED_FLAG_STRONG_ORDER;

  struct Card {  // what the other ranks must know
    utofu_vcq_id_t vcq;
    utofu_stadd_t memory;
  };
  [[nodiscard]] const Card& card_of(int rank) const { return cards_[static_cast<std::size_t>(rank)]; }

  template <class Call>
  void post(const char* what, Call call) {
    int code = UTOFU_SUCCESS;
    while ((code = call()) == UTOFU_ERR_BUSY) took_report();
    check(code, what);
  }
  // Whether a command that asked for it has left; the queue's room comes back thereby.
  bool took_report() {
    void* unused = nullptr;
    const int code = utofu_poll_tcq(handle_, 0, &unused);
    if (code != UTOFU_ERR_NOT_FOUND) check(code, "utofu_poll_tcq");
    return code == UTOFU_SUCCESS;
  }

  utofu_onesided_caps* limits_ = nullptr;
  utofu_vcq_hdl_t handle_ = 0;
  utofu_stadd_t own_ = 0;
  std::vector<Card> cards_;  // by rank
};

// Opens them, on one TNI after the other; how many there are. Collective.
inline std::size_t open_all(std::vector<Vcq>& vcqs, std::byte* memory, std::size_t bytes,
                            const Gathering& ranks) {
  utofu_tni_id_t* tnis = nullptr;
  std::size_t count = 0;
  check(utofu_get_onesided_tnis(&tnis, &count), "utofu_get_onesided_tnis");
  for (std::size_t i = 0; i < vcqs.size(); ++i) vcqs[i].open(tnis[i % count], memory, bytes, ranks);
  std::free(tnis);
  (void)ranks.all(ranks.rank());
  return count;
}

}  // namespace bench
