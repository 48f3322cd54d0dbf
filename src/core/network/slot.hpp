// SPDX-License-Identifier: BSD-3-Clause
// One place of the endpoint pool, and what it and one rank have between them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "arch/cpu.hpp"
#include "conduit/conduit.hpp"
#include "core/memory/allocation.hpp"
#include "util/sparse_table.hpp"

namespace ompl {

using conduit::Signal;
using conduit::SignalOp;

// Segments of long puts that a slot has under way to a rank at most; a put of so many segments is long.
inline constexpr uint32_t kPaced = 4;

// What one slot and one rank have between them. Written by whoever holds the slot's claim, but for the
// atomics, which any thread reads.
struct SlotPeer {
  std::atomic<uint32_t> in_flight{0};     // records sent whose credit has not come back [4]
  std::atomic<uint64_t> acknowledged{0};  // ack_request numbers up to this one are answered
  std::atomic<uint64_t> last_ticket{0};   // of all data operations
  uint64_t sent = 0;                      // data operations and signals
  uint64_t asked = 0;                     // ack_request numbers given out,
  uint64_t covered = 0;                   // and what was sent before the last of them
  uint64_t segments = 0;                  // of long puts,
  std::array<uint64_t, kPaced> paced{};   // and the tickets of the last ones
  std::atomic<bool> used{false};          // something was sent
  // What is still to be sent; done by whoever progresses the slot.
  uint32_t consumed = 0;        // records whose credit was not returned yet
  std::vector<Signal> replies;  // to the far side's requests
  struct Deferred {
    Signal record;
    uint64_t ticket;  // goes out once the data operations up to this one are complete
  };
  std::deque<Deferred> deferred;  // own signals
  bool reply_pending = false;     // rank stands in Slot::pending_replies
};

// One place of the pool. A claim is an exclusive right to call the endpoint; it is held for a bounded
// number of steps and never across a yield, a sleep or a return to the user.
struct alignas(arch::kCacheLine) Slot {
  std::atomic<bool> claimed{false};
  std::atomic<bool> wanted{false};  // somebody had something to post and found it claimed
  std::atomic<uint32_t> turns{0};   // of progress; counted by whoever holds the claim
  uint32_t index = 0;
  std::unique_ptr<conduit::Endpoint> endpoint;
  std::unique_ptr<SparseTable<SlotPeer>> peers;  // made at first use
  std::vector<uint32_t> pending_replies;         // ranks to which this slot has acks or credits to send
  // Records that came in while there was no memory to carry them out, and from whom. There is room for so many; until all are
  // carried out no more are taken in.
  static constexpr std::size_t kPostponed = 64;
  std::vector<std::pair<uint32_t, Signal>> postponed;
  Extent flag;                                  // allocation of the last flag signalled from outside,
  std::atomic<uint64_t> last_flag{UINT64_MAX};  // and its offset

  bool try_claim() {
    return !claimed.load(std::memory_order_seq_cst) &&
           !claimed.exchange(true, std::memory_order_seq_cst);
  }
};

}  // namespace ompl
