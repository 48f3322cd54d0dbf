// SPDX-License-Identifier: BSD-3-Clause
// Which functions that a rank ran for others answer their callers. A run does not tell; the i-th run of a function for one rank
// belongs to that rank's i-th call of it there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "trace/reader/reader.hpp"

namespace ompl::model {

class RemoteCalls {
 public:
  // Of all ranks, in their order.
  explicit RemoteCalls(std::span<const trace::RankTrace* const> ranks);

  // Of the functions that a thread ran, one after the other: 1 if the caller waits for a reply.
  [[nodiscard]] std::span<const uint8_t> answered_by(uint32_t rank, std::size_t thread) const;

 private:
  struct Call {
    int64_t time;
    bool awaits_reply;
  };
  struct Run {
    int64_t time;
    std::size_t thread, number;
  };
  struct Pair {
    std::vector<Call> calls;
    std::vector<Run> runs;
  };

  void add(const trace::RankTrace& trace, std::size_t thread, const trace::Record& call);

  std::map<std::tuple<uint32_t, uint32_t, int32_t>, Pair> pairs_;  // caller, target, function
  std::map<std::pair<uint32_t, std::size_t>, std::vector<uint8_t>> answered_;
};

}  // namespace ompl::model
