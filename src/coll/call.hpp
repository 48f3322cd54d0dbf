// SPDX-License-Identifier: BSD-3-Clause
// What a collective is asked to do, as far as its schedule depends on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coll/schedule/schedule.hpp"

namespace ompl::coll {

class Nodes;

// Blocks of a buffer, one for each member: all of one length, or listed.
struct Blocks {
  uint64_t length = 0;
  std::vector<std::size_t> lengths;  // empty: all are of `length`, one behind the other
  std::vector<std::size_t> offsets;

  [[nodiscard]] uint64_t of(uint32_t member) const {
    return lengths.empty() ? length : lengths[member];
  }
  [[nodiscard]] uint64_t at(uint32_t member) const {
    return lengths.empty() ? member * length : offsets[member];
  }
  bool operator==(const Blocks&) const = default;
};

struct CollectiveCall {
  int32_t collective = 0;
  int32_t algorithm = 0;
  uint32_t me = 0;
  uint32_t size = 1;
  uint32_t root = 0;
  bool in_place = false;
  bool commutative = true;
  bool modes = false;          // the tuner chooses who makes progress, too
  bool listed = false;         // blocks have lengths of their own, known to this rank or not
  uint32_t element = 1;        // bytes of an element of a reduction
  uint32_t most_combined = 0;  // bytes of an element that can be combined as it comes
  uint64_t length = 0;  // bytes of a buffer or, where a buffer has a block for each member, of a block
  const Nodes* nodes = nullptr;  // of the members; null: of no interest
  Blocks sent{};                 // of alltoall and scatter, if they are listed
  Blocks
      received{};  // of alltoall, allgather, gather and, within another algorithm, reduce-scatter, if they are listed

  // Where what this rank contributes lies.
  [[nodiscard]] Place own() const { return {in_place ? CallBuffer::receive : CallBuffer::send, 0}; }
  bool operator==(const CollectiveCall&) const = default;
};

inline constexpr Place kSent{CallBuffer::send, 0};
inline constexpr Place kReceived{CallBuffer::receive, 0};
inline constexpr Place kScratch{CallBuffer::scratch, 0};

}  // namespace ompl::coll
