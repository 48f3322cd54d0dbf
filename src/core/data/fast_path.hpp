// SPDX-License-Identifier: BSD-3-Clause
// The fast paths of ompl_put, ompl_put_word and ompl_put_signal over a network whose conduit joins puts and signals:
// one comparison for the rank, one check of the address, one claim, one call of the endpoint. False: nothing was done;
// take the slow path, which says why, or waits. `known`: the context, null if the thread has none yet.
#pragma once

#include "core/job/runtime.hpp"
#include "core/network/network.hpp"

namespace ompl {

class FastPath {
 public:
  static bool put(Context* known, const void* source, uint32_t rank, uint64_t offset,
                  std::size_t length) {
    if (!leads(known, rank) || !may_hold(*known, offset, length)) return false;
    known->held.hold(source, rank, offset, length);
    return true;
  }

  static bool signal(Context* known, uint32_t rank, uint64_t flag) {
    if (!leads(known, rank) || !Runtime::knows_flag(*known, flag)) return false;
    CoalescedPut& held = known->held;
    if (!held.any()) return post<false>(*known, nullptr, 0, 0, flag);
    if (held.rank != rank || !held.take()) return false;
    if (post<true>(*known, held.data.data(), held.offset, held.length, flag)) {
      held.forget();
      return true;
    }
    held.give_back();
    return false;
  }

  static bool put_signal(Context* known, const void* source, uint32_t rank, uint64_t offset,
                         std::size_t length, uint64_t flag) {
    return leads(known, rank) && may_hold(*known, offset, length) &&
           Runtime::knows_flag(*known, flag) && post<true>(*known, source, offset, length, flag);
  }

 private:
  static bool leads(const Context* known, uint32_t rank) {
    return known != nullptr && known->route.rank == rank && known->direct;
  }

  static bool may_hold(const Context& c, uint64_t offset, std::size_t length) {
    return length - 1 < c.route.limit &&
           c.data.covers(offset, length, c.generation->load(std::memory_order_relaxed)) &&
           !c.held.any();
  }

  // A context with data outstanding stays on their slot [14], which is the route's. Tickets there only grow.
  template <bool WithData>
  static bool post(Context& c, const void* source, uint64_t offset, std::size_t length, uint64_t flag) {
    const CachedRoute& route = c.route;
    if (!Network::try_claim(*route.slot)) return false;
    const conduit::Post result = route.slot->endpoint->put_with_immediate(
        static_cast<uint32_t>(route.rank), source, offset, length, flag);
    const bool done = result.state == conduit::Post::State::done;
    if (done) [[likely]] {
      Outstanding& mine = *route.mine;
      if (WithData) {
        route.peer->last_ticket.store(result.ticket, std::memory_order_release);
        mine.ticket = result.ticket;
      }
      if (!(WithData ? mine.data : mine.listed)) [[unlikely]]  // with data it is listed
        route.network->note_first(c, WithData);
      ++route.peer->sent;
      ++mine.posts;
      mine.signalled_slots |= route.slot_bit;
    } else if (result.state == conduit::Post::State::pending) {  // the slow path, on the same slot [14]
      route.network->note_data(c, *route.slot, static_cast<uint32_t>(route.rank), result);
    }
    route.slot->claimed.store(false, std::memory_order_seq_cst);
    if (route.sentinel->load(std::memory_order_seq_cst) != 0) [[unlikely]]
      route.network->arm_released(*route.slot);
    return done;
  }
};

}  // namespace ompl
