// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a node share for progress mode `node`, in their segments: a member's calls that the servant of the node may carry out,
// and who can be that servant. The protocol stands in docs/design/node-servant.md.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "arch/cpu.hpp"
#include "coll/progress/event_count.hpp"

namespace ompl::coll {

// A call that a member has handed over. Addresses are the member's.
struct alignas(arch::kCacheLine) Order {
  // Whose it is: of nobody so far, of the servant, of the member, who took it back or had it refused. With its number: who comes late
  // must not get a later one in the same place.
  enum class Owner : uint8_t { nobody, servant, member };
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

  int32_t code;       // how it ended, by the servant
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

// Orders of a lane, in the member's segment, carried out in their order. Counted modulo 2^32.
struct alignas(arch::kCacheLine) Desk {
  static constexpr uint32_t kOrders = 4;

  std::atomic<uint32_t> posted;                          // by the member
  std::atomic<uint32_t> recalled;                        // 1: the servant is to end what it has at once
  alignas(arch::kCacheLine) std::atomic<uint32_t> done;  // signalled by who has carried one out
  std::atomic<uint64_t> moves;                           // as Executor::moves(), of the servant
  std::array<Order, kOrders> orders;

  [[nodiscard]] Order& order(uint32_t number) { return orders[number % kOrders]; }
};

// Of a rank.
struct alignas(arch::kCacheLine) Station {
  // As the servant of its node: whether it takes orders, and how it is woken.
  std::atomic<uint32_t> open;
  Bell bell;
  // As a member: where its memory is, and a number in it that proves that what was read is this process's.
  alignas(arch::kCacheLine) int32_t pid;
  uint64_t segment;
  uint64_t proof, proof_at;
  std::atomic<int32_t>
      refused;  // the error with which a servant could not read it; 0: it could, or has not tried
};

static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace ompl::coll
