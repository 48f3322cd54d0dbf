// SPDX-License-Identifier: BSD-3-Clause
// The fast paths of PeerChannel and of ompl_wait(), inlined into the functions of the C API.
#pragma once

#include "core/data/update.hpp"
#include "core/job/context.hpp"
#include "core/network/endpoint_pool.hpp"

namespace ompl {

inline PeerChannel* PeerChannel::leading(const Context* known, uint32_t rank) {
  if (known == nullptr) return nullptr;
  PeerChannel* const fast = known->fast.load(std::memory_order_relaxed);
  return fast->rank_ == rank ? fast : nullptr;
}

inline bool PeerChannel::may_hold(const Context& c, uint64_t offset, std::size_t length) const {
  return length - 1 < short_limit_ && c.knows_data(offset, length) &&
         c.holder.load(std::memory_order_relaxed) == nullptr;
}

inline bool PeerChannel::try_put(Context* known, const void* source, uint32_t rank, uint64_t offset,
                                 std::size_t length) {
  PeerChannel* const self = leading(known, rank);
  if (self == nullptr || !self->may_hold(*known, offset, length)) return false;
  known->holder.store(self, std::memory_order_relaxed);
  self->held.hold_short(source, offset, length);
  return true;
}

inline bool PeerChannel::try_signal(Context* known, uint32_t rank, uint64_t flag) {
  PeerChannel* const self = leading(known, rank);
  if (self == nullptr || !known->knows_flag(flag)) return false;
  const PeerChannel* const holder = known->holder.load(std::memory_order_relaxed);
  if (holder == nullptr) return self->post<false>(*known, nullptr, 0, 0, flag);
  CoalescedPut& held = self->held;
  if (holder != self || !held.take()) return false;
  if (!self->post<true>(*known, held.short_data(), held.offset(), held.length(), flag)) {
    held.give_back();
    return false;
  }
  held.forget();
  known->holder.store(nullptr, std::memory_order_relaxed);
  return true;
}

inline bool PeerChannel::try_put_signal(Context* known, const void* source, uint32_t rank,
                                        uint64_t offset, std::size_t length, uint64_t flag) {
  PeerChannel* const self = leading(known, rank);
  return self != nullptr && self->may_hold(*known, offset, length) && known->knows_flag(flag) &&
         self->post<true>(*known, source, offset, length, flag);
}

// A context with data outstanding stays on their slot [14], which is the channel's.
template <bool WithData>
inline bool PeerChannel::post(Context& c, const void* source, uint64_t offset, std::size_t length,
                              uint64_t flag) {
  if (!slot_->try_claim()) return false;
  const conduit::Post result =
      slot_->endpoint->put_with_immediate(rank(), source, offset, length, flag);  // throws nothing
  if (result.state != conduit::Post::State::done) [[unlikely]]
    return leave(c, result);
  note_immediate<WithData>(c, result.ticket);
  pool_->release(*slot_);
  return true;
}

// Looks at the flag for some microseconds, if nothing else has to be done meanwhile; false: take the slow path, which checks
// everything and blocks.
inline bool await_mapped(Context& c, uint64_t flag) {
  if (!c.direct.load(std::memory_order_relaxed) || !c.knows_flag(flag)) return false;
  std::byte* word = c.bases[c.rank] + flag;
  if (take<uint32_t>(word)) return true;
  if (c.turn == 0) return false;
  --c.turn;
  for (int left = c.eager_spins; left > 0; --left) {
    arch::pause();
    if (take<uint32_t>(word)) return true;
  }
  if (c.eager_spins > 0) c.eager_spins = Context::kSpunInVain;
  return false;
}

}  // namespace ompl
