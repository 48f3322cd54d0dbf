// SPDX-License-Identifier: BSD-3-Clause
// What ranks put into each other's memory beside data: signal records and greetings, of 32 bytes, so that each travels in
// the command that puts it. Its last word is written last and at once (strong order): whoever finds it there finds all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "conduit/common/record.hpp"
#include "conduit/common/sealed.hpp"

namespace ompl::conduit::utofu {

// In a ring, at the number of records before it.
struct Record {
  uint64_t offset = 0;
  uint64_t value = 0;
  uint64_t token = 0;
  uint64_t tail =
      0;  // operation, function, and the number of the record, so that an older one in its place is not it

  static constexpr uint64_t tail_of(uint8_t op, Function function) {
    return op | static_cast<uint64_t>(function) << 8;
  }
  static constexpr uint64_t numbered(uint64_t number) { return number << 32; }
  static constexpr bool is_numbered(uint64_t tail, uint64_t number) {
    return tail >> 32 == (number & UINT32_MAX);
  }
  [[nodiscard]] bool compares() const { return function() == Function::compare_swap; }
  [[nodiscard]] uint8_t op() const { return static_cast<uint8_t>(tail); }
  [[nodiscard]] Function function() const {
    return static_cast<Function>(static_cast<uint8_t>(tail >> 8));
  }
};
static_assert(sizeof(Record) == 32);

// Operations of this conduit's own, beside those of SignalOp.
inline constexpr uint8_t kCompare = 254;  // `value` is what the next record compares with
inline constexpr uint8_t kGoodbye = 255;  // the source is about to close its endpoint in order

inline constexpr uint32_t kRing = 128;  // records of one peer, 4 KiB

// The first thing that an endpoint puts to another.
struct BoardGreeting {
  uint64_t cookie = 0;
  uint64_t unused = 0;
  uint32_t rank = 0;
  uint32_t slot = 0;
  uint64_t there = 0;  // 1
};
static_assert(sizeof(BoardGreeting) == 32);

// What this side is told about its connection to a rank.
inline constexpr uint64_t kNoRing = UINT64_MAX;
struct Reply {
  uint64_t ring =
      0;  // steering address of the ring made for this side; 0: not yet; kNoRing: there is none
  uint64_t taken = 0;  // records that the other side has taken out of it
  uint64_t left = 0;   // 1: the other side closes its endpoint in order, and has no ring to say so in
};

// Of a pool that is so many times larger than another's all slots can greet one of it.
inline constexpr uint64_t kLanes = 8;

// The memory of an endpoint that everyone may write to, registered under a number that all know:
//   0    tickets: whoever greets adds one, and has a place of its own for the greeting
//   8    a word that nobody reads: written to find out whether this side still answers
//   256  Reply of each rank, then kLanes greetings for each rank
struct Board {
  static constexpr std::size_t kTickets = 0;
  static constexpr std::size_t kHeartbeat = 8;
  static constexpr std::size_t kReplies = 256;

  static std::size_t reply(uint32_t rank) { return kReplies + rank * sizeof(Reply); }
  static uint64_t greetings(uint32_t ranks) { return ranks * kLanes; }
  static std::size_t greeting(uint32_t ranks, uint64_t place) {
    const std::size_t first = (reply(ranks) + 255) / 256 * 256;
    return first + place * sizeof(BoardGreeting);
  }
  static std::size_t size(uint32_t ranks) { return greeting(ranks, greetings(ranks)); }
};

}  // namespace ompl::conduit::utofu
