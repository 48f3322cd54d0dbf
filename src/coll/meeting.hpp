// SPDX-License-Identifier: BSD-3-Clause
// How ranks exchange a number each, without a team: to make one and to end one. Between two ranks two places are used in
// turn: whoever tells for the third time has heard the other's second, which had then read the first.
#pragma once

#include <cstdint>
#include <vector>

#include "core/runtime.hpp"

namespace ompl::coll {

class Meeting {
 public:
  Meeting(Runtime& runtime, uint64_t memory)
      : runtime_(runtime), memory_(memory), met_(runtime.size(), 0) {}

  static uint64_t bytes(uint32_t ranks) {
    return (uint64_t{ranks} * 2 * sizeof(Message) + OffsetAllocator::kGranule - 1) /
           OffsetAllocator::kGranule * OffsetAllocator::kGranule;  // what comes behind begins at a line
  }

  // Tells each of `ranks` `value` and stores what each tells, by its place in the list. Blocks until all have. Called by all of
  // them, one thread at a time.
  int exchange(Context& c, const std::vector<uint32_t>& ranks, uint64_t value,
               std::vector<uint64_t>* values);

 private:
  struct Message {
    uint64_t value;
    uint32_t flag;
    uint32_t unused;
  };
  [[nodiscard]] uint64_t place(uint32_t rank, uint32_t turn) const {
    return memory_ + (uint64_t{rank} * 2 + turn % 2) * sizeof(Message);
  }

  Runtime& runtime_;
  const uint64_t memory_;
  std::vector<uint32_t> met_;  // exchanges with each rank
};

}  // namespace ompl::coll
