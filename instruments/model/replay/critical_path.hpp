// SPDX-License-Identifier: BSD-3-Clause
// The critical paths of a replay: chains of stretches on ranks, which clocks point into.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "model/replay/clock.hpp"
#include "model/replay/message.hpp"
#include "model/replay/replay.hpp"

namespace ompl::model {

class CriticalPath {
 public:
  // `stretches` are those of all groups of ranks, counted here and there.
  explicit CriticalPath(std::atomic<std::size_t>& stretches) : stretches_(stretches) {}

  // Of a clock that begins at this rank.
  void begin(Traced& now, uint32_t rank) { add(now, rank, {{kNone, rank}, 0, 0}); }
  // The clock is that of a rank's call which ended.
  void step(Traced& now, uint32_t rank, uint32_t site) {
    if (now.path.rank == rank || stretches_.load(std::memory_order_relaxed) >= kMost) return;
    add(now, rank, {now.path, now.ns, site});
  }

  // `path_of`: the CriticalPath that a rank's stretches are in.
  template <class Function>
  [[nodiscard]] static Sensitivity sensitivity(const Traced& end, std::size_t stretches,
                                               Function path_of) {
    Sensitivity out;
    out.count = end.counts;
    if (stretches >= kMost) return out;  // not all were kept
    double to = end.ns;
    uint32_t site = 0;
    for (Stretch i = end.path; i.number != kNone;) {
      const Node& node = path_of(i.rank).nodes_[i.number];
      if (++out.steps <= Sensitivity::kMostSteps) out.path.push_back({i.rank, node.ns, to, site});
      to = node.ns;
      site = node.site;
      i = node.before;
    }
    std::ranges::reverse(out.path);
    return out;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 24;
  struct Node {
    Stretch before;
    double ns;      // when it came to this rank
    uint32_t site;  // by which call
  };

  void add(Traced& now, uint32_t rank, const Node& node) {
    nodes_.push_back(node);
    stretches_.fetch_add(1, std::memory_order_relaxed);
    now.path = {static_cast<uint32_t>(nodes_.size() - 1), rank};
  }

  std::vector<Node> nodes_;
  std::atomic<std::size_t>& stretches_;
};

}  // namespace ompl::model
