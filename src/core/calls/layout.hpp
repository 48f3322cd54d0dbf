// SPDX-License-Identifier: BSD-3-Clause
// The memory of remote calls: one allocation at the same offset of every rank's segment. It holds the rings into which other
// ranks write their calls, who has each, how much of this rank's own calls others have taken, and the replies to them.
// docs/explanation/remote-calls.md.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "omnipgas/ompl_calls.h"

namespace ompl::calls {

// A call in a ring; the arguments follow it.
struct CallEntry {
  uint32_t function;
  uint32_t length;   // of the arguments
  uint32_t reply;    // place of the caller's reply table and one more; 0: no reply is wanted
  uint32_t ready;    // in a ring that is mapped: not 0 once the entry is whole
  uint64_t payload;  // offset
  uint64_t payload_length;
};
static_assert(sizeof(CallEntry) == 32);

// Functions of the layer's own (packing.hpp) have this bit in their number. With the other one the caller is told at once
// that the entry was read and has run, not when a quarter of the ring was.
inline constexpr uint32_t kOwnFunction = uint32_t{1} << 31;
inline constexpr uint32_t kTellAtOnce = uint32_t{1} << 30;
inline bool is_own(uint32_t function) { return (function & kOwnFunction) != 0; }
inline bool tells_at_once(uint32_t function) {
  return (function & (kOwnFunction | kTellAtOnce)) == (kOwnFunction | kTellAtOnce);
}

// What a caller finds when its call has run. `count` goes up by one with each reply.
struct alignas(64) CallReply {
  uint32_t count;
  int32_t code;
  uint64_t value;
};
// The part that is put before the count goes up.
inline constexpr std::size_t kReplyBytes = sizeof(CallReply::code) + sizeof(CallReply::value);

inline constexpr uint32_t kReplies = 512;    // that a rank awaits at most
inline constexpr uint32_t kSlotBytes = 128;  // an entry takes whole slots
inline constexpr uint32_t kMostSlots = 256;  // of a ring
inline constexpr uint32_t kLeastSlots = 64;
inline constexpr uint32_t kLongestEntry = 4096;
static_assert(sizeof(CallEntry) + OMPL_CALL_ARGUMENTS <= kLongestEntry);
inline constexpr std::size_t kOwnArguments =
    kLongestEntry - sizeof(CallEntry);  // of a call of the layer's own

inline constexpr uint32_t kOutbox =
    16;  // calls of a rank at most that wait to be fetched, at all targets

// Where packed elements that this rank has asked for arrive. The count goes up by one with each arrival, and the target puts what
// follows it before.
struct alignas(64) PackedLanding {
  uint32_t count;
  uint32_t unused;
  int64_t code;
  std::byte elements[16 * 1024];
};
inline constexpr std::size_t kLandingElements = sizeof(PackedLanding::elements);  // bytes
inline constexpr uint32_t kLandings = 16;  // requests of packed gets under way, to all targets

// A bell: where in the caller's outbox its call lies, and how many slots it would take. 0: there is none.
inline constexpr uint32_t bell(uint32_t place, uint32_t slots) { return slots << 8 | (place + 1); }
inline constexpr uint32_t place_of_bell(uint32_t value) { return (value & 255) - 1; }
inline constexpr uint32_t slots_of_bell(uint32_t value) { return value >> 8; }

inline constexpr uint32_t slots_of(std::size_t arguments) {
  return static_cast<uint32_t>((sizeof(CallEntry) + arguments + kSlotBytes - 1) / kSlotBytes);
}
static_assert(slots_of(kOwnArguments) <= kLeastSlots / 2);

// Where everything is, from the allocation's begin on. A ring is, for callers over a network, a counter for each slot, then the slots, then room for an entry that
// begins in the last slot: it does not wrap, though it takes the first slots too.
class Layout {
 public:
  Layout() = default;
  // `budget`: bytes for rings. `lands`: with landings.
  Layout(uint32_t ranks, std::size_t budget, bool lands = false) : ranks_(ranks), lands_(lands) {
    const auto ring_bytes = [](uint32_t slots) {
      return round(slots * (sizeof(uint32_t) + kSlotBytes) + kLongestEntry);
    };
    rings_ = static_cast<uint32_t>(std::clamp<std::size_t>(budget / ring_bytes(kLeastSlots), 1, ranks));
    slots_ = kLeastSlots;
    while (slots_ < kMostSlots && rings_ * ring_bytes(2 * slots_) <= budget) slots_ *= 2;
    ring_bytes_ = ring_bytes(slots_);
    replies_at_ = round(taken(ranks_));
    rings_at_ = round(reply(kReplies));
  }

  [[nodiscard]] uint32_t rings() const { return rings_; }
  [[nodiscard]] uint32_t slots() const { return slots_; }  // of each, a power of two
  [[nodiscard]] std::size_t ring_bytes() const { return ring_bytes_; }
  [[nodiscard]] std::size_t bytes() const { return landing(lands_ ? kLandings : 0); }
  // A word of 64 bits: bit i stands for the rings of number i modulo 64 into which something has come.
  [[nodiscard]] uint64_t arrivals() const { return 0; }
  // The same of bells: bit i stands for those of the ranks from i * ranks_of_mark() on.
  [[nodiscard]] uint64_t bell_marks() const { return sizeof(uint64_t); }
  [[nodiscard]] uint32_t ranks_of_mark() const { return (ranks_ + 63) / 64; }
  // Whether some ranks have no ring here, so that their calls are fetched.
  [[nodiscard]] bool has_bells() const { return rings_ < ranks_; }
  // A word of 32 bits that the rank sets to bell() when its outbox has a call for this one. The bells follow the rings.
  [[nodiscard]] uint64_t bell_of(uint32_t rank) const {
    return ring(rings_) + sizeof(uint32_t) * uint64_t{rank};
  }
  // Where this rank leaves calls to be fetched.
  [[nodiscard]] uint64_t outbox(uint32_t place) const {
    return round(bell_of(ranks_)) + kLongestEntry * uint64_t{place};
  }
  [[nodiscard]] uint64_t landing(uint32_t place) const {
    return round(has_bells() ? outbox(kOutbox) : ring(rings_)) +
           sizeof(PackedLanding) * uint64_t{place};
  }
  // A word of 32 bits: the rank whose ring it is and one more; 0: nobody's.
  [[nodiscard]] uint64_t owner(uint32_t ring) const { return 256 + sizeof(uint32_t) * uint64_t{ring}; }
  // A word of 32 bits: slots that `rank` has read of what this rank has sent there, modulo 2^32.
  [[nodiscard]] uint64_t taken(uint32_t rank) const {
    return owner(rings_) + sizeof(uint32_t) * uint64_t{rank};
  }
  [[nodiscard]] uint64_t reply(uint32_t place) const {
    return replies_at_ + sizeof(CallReply) * uint64_t{place};
  }
  [[nodiscard]] uint64_t ring(uint32_t number) const {
    return rings_at_ + ring_bytes_ * uint64_t{number};
  }
  // The slot behind so many, modulo 2^32.
  [[nodiscard]] uint32_t slot_behind(uint32_t used) const { return used & (slots_ - 1); }
  // Within a ring: a word of 32 bits that goes up by one for each entry that a network has brought there; the slot; and its
  // entry's `ready`, which is 0 in all slots that are free.
  [[nodiscard]] static uint64_t count(uint32_t slot) { return sizeof(uint32_t) * uint64_t{slot}; }
  [[nodiscard]] uint64_t slot(uint32_t slot) const {
    return count(slots_) + kSlotBytes * uint64_t{slot};
  }
  [[nodiscard]] uint64_t ready(uint32_t number) const {
    return slot(number) + offsetof(CallEntry, ready);
  }

 private:
  static constexpr uint64_t round(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

  uint32_t ranks_ = 0;
  bool lands_ = false;
  uint32_t rings_ = 0;
  uint32_t slots_ = kLeastSlots;
  std::size_t ring_bytes_ = 0;
  uint64_t replies_at_ = 0;
  uint64_t rings_at_ = 0;
};

}  // namespace ompl::calls
