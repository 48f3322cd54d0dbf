// SPDX-License-Identifier: BSD-3-Clause
// What the runs of functions for other ranks do not tell: which of them answer their callers, and which ran within a call of
// their own rank. The i-th run of a function for one rank belongs to that rank's i-th call of it there.
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

struct FunctionRun {
  bool answers = false;
  bool within = false;  // a call of its own thread, as a barrier
};

class RemoteCalls {
 public:
  // Of all ranks, in their order.
  explicit RemoteCalls(std::span<const trace::RankTrace* const> ranks);

  // The functions that a thread ran, one after the other.
  [[nodiscard]] std::span<const FunctionRun> of(uint32_t rank, std::size_t thread) const;

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
  // What is known of a thread so far; its calls are recorded as they end.
  struct Recent {
    std::size_t first = 0;  // of the runs behind the last call outside of a function
    bool in_function = false;
  };

  void add(const trace::RankTrace& trace, std::size_t thread, const trace::Record& call,
           Recent& recent);

  std::map<std::tuple<uint32_t, uint32_t, int32_t>, Pair> pairs_;  // caller, target, function
  std::map<std::pair<uint32_t, std::size_t>, std::vector<FunctionRun>> runs_;
};

}  // namespace ompl::model
