// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a node share for progress mode `node`, in their segments: a member's calls that the node's progress thread may carry out,
// and how that thread is reached. The protocol stands in docs/explanation/node-progress.md.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/cpu.hpp"
#include "core/progress/event_count.hpp"

namespace ompl::coll {

// A call that a member has handed over. Addresses are the member's.
struct alignas(arch::kCacheLine) OffloadRequest {
  // Whose it is: of nobody so far, of the progress thread as the member's proxy, of the member, who took it back or had it refused. With its number: who comes late
  // must not get a later one in the same place.
  enum class Owner : uint8_t { nobody, proxy, member };
  static uint64_t claim_of(uint32_t number, Owner owner) {
    return uint64_t{number} << 8 | static_cast<uint8_t>(owner);
  }
  std::atomic<uint64_t> claim;

  // True if it was nobody's.
  bool take(uint32_t number, Owner taker) {
    uint64_t nobodys = claim_of(number, Owner::nobody);
    return claim.compare_exchange_strong(nobodys, claim_of(number, taker));
  }
  [[nodiscard]] bool is_of(uint32_t number, Owner owner) const {
    return claim.load(std::memory_order_acquire) == claim_of(number, owner);
  }

  int32_t code;       // how it ended, by the progress thread
  uint64_t schedule;  // its number: what is known of it need not be read again
  uint64_t steps, rounds;
  uint32_t step_count, round_count;
  uint32_t widest;
  int32_t type, op;  // of a reduction; a built-in one
  uint32_t element;
  uint64_t scratch;
  uint64_t send, receive;
  std::array<char, 160> why;  // of `code`
};

// What was offloaded of a tag queue, in the member's segment, carried out in its order. Counted modulo 2^32.
struct alignas(arch::kCacheLine) OffloadQueue {
  static constexpr uint32_t kPlaces = 4;

  std::atomic<uint32_t> posted;    // by the member
  std::atomic<uint32_t> recalled;  // 1: the progress thread is to end what it has at once
  alignas(arch::kCacheLine) std::atomic<uint32_t> done;  // signalled by whoever has carried one out
  std::atomic<uint64_t> moves;                           // as Executor::moves(), of the progress thread
  std::array<OffloadRequest, kPlaces> requests;

  [[nodiscard]] OffloadRequest& request(uint32_t number) { return requests[number % kPlaces]; }
};

// Of a rank.
struct alignas(arch::kCacheLine) NodeEndpoint {
  // As the node's progress thread: whether it takes requests, and how it is woken.
  std::atomic<uint32_t> open;
  EventCount events;
  // As a member: where its memory is, and a number in it that proves that what was read is this process's.
  alignas(arch::kCacheLine) int32_t pid;
  uint64_t segment;
  uint64_t proof, proof_at;
  std::atomic<int32_t>
      refused;  // the error with which a progress thread could not read it; 0: it could, or has not tried
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace ompl::coll
