// SPDX-License-Identifier: BSD-3-Clause
// The critical paths of a replay: chains of stretches on ranks, which clocks point into.
#pragma once

#include <algorithm>
#include <vector>

#include "model/clock.hpp"
#include "model/message.hpp"
#include "model/replay.hpp"

namespace ompl::model {

class CriticalPath {
 public:
  // Of a clock that begins at this rank.
  void begin(Traced& now, uint32_t rank) { add(now, {kNone, rank, 0, 0}); }
  // The clock is that of a rank's call which ended.
  void step(Traced& now, uint32_t rank, uint32_t site) {
    if (nodes_[now.path].rank == rank || nodes_.size() == kMost) return;
    add(now, {now.path, rank, now.ns, site});
  }

  [[nodiscard]] Sensitivity sensitivity(const Traced& end) const {
    Sensitivity out;
    out.count = end.counts;
    if (nodes_.size() == kMost) return out;  // not all were kept
    double to = end.ns;
    uint32_t site = 0;
    for (uint32_t i = end.path; i != kNone; i = nodes_[i].before) {
      if (++out.steps <= Sensitivity::kMostSteps)
        out.path.push_back({nodes_[i].rank, nodes_[i].ns, to, site});
      to = nodes_[i].ns;
      site = nodes_[i].site;
    }
    std::ranges::reverse(out.path);
    return out;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 24;
  struct Node {
    uint32_t before;
    uint32_t rank;
    double ns;      // when it came to this rank
    uint32_t site;  // by which call
  };

  void add(Traced& now, const Node& node) {
    nodes_.push_back(node);
    now.path = static_cast<uint32_t>(nodes_.size() - 1);
  }

  std::vector<Node> nodes_;
};

}  // namespace ompl::model
