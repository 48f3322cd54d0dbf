// SPDX-License-Identifier: BSD-3-Clause
#include "halo/flagged.hpp"

#include <algorithm>

#include "core/data/operations.hpp"
#include "core/wait/block.hpp"

namespace ompl::halo {

Flagged::Flagged(Runtime& runtime, const Pattern& pattern, const Strategy& strategy, uint64_t region)
    : pattern_(pattern),
      strategy_(strategy),
      region_(static_cast<std::byte*>(runtime.memory.pointer(runtime.rank(), region))) {
  for (const Neighbor& n : pattern.neighbors) {
    NeighborLink link{
        .with = &n, .flags_there = region + n.there.flags, .landing_there = region + n.there.landing};
    link.flags = reinterpret_cast<Flags*>(region_ + n.here.flags);
    if (n.send.count > 0)
      link.mapped = static_cast<std::byte*>(runtime.memory.pointer(n.rank, link.landing_there));
    links_.push_back(link);
  }
}

// A step for each neighbour to announce, then one for each put: a time limit leaves what is left for the next call.
int Flagged::start(Context& context, const void* const* vectors, Deadline deadline) {
  const uint64_t exchange = exchange_.load(std::memory_order_relaxed) + 1;
  const std::size_t count = links_.size();
  Caller caller(context);
  for (; steps_ < count; ++steps_) {
    if (const int code = announce(caller.now(), links_[steps_], exchange, deadline); code != OMPL_OK)
      return code;
  }
  for (; steps_ < count * (1 + pattern_.vectors); ++steps_) {
    const std::size_t put = steps_ - count;
    const int code =
        send(caller.now(), put / pattern_.vectors, put % pattern_.vectors, exchange, vectors, deadline);
    if (code != OMPL_OK) return code;
  }
  steps_ = 0;
  sent_.store(handles_.empty() ? 1 : 0, std::memory_order_relaxed);
  exchange_.store(exchange, std::memory_order_release);
  return OMPL_OK;
}

int Flagged::announce(Context& c, const NeighborLink& to, uint64_t exchange, Deadline deadline) {
  Signal signal;
  if (!strategy_.announce(to, exchange, &signal)) return OMPL_OK;
  return ompl::signal(c, to.with->rank, signal, deadline);
}

int Flagged::send(Context& context, std::size_t neighbor, std::size_t vector, uint64_t exchange,
                  const void* const* vectors, Deadline deadline) {
  Caller caller(context);
  const NeighborLink& to = links_[neighbor];
  const Neighbor& n = *to.with;
  Signal mark;
  if (!strategy_.mark(to, exchange, &mark)) return OMPL_OK;
  if (vector == 0 && !strategy_.may_send(to, exchange)) {
    const Blocked what{.call = Call::halo};
    const int code =
        Blocker(context, what, deadline).run([&] { return strategy_.may_send(to, exchange) ? 1 : 0; });
    if (code != OMPL_OK) return code;
  }
  Context& c = caller.now();
  const bool last = vector + 1 == pattern_.vectors;
  if (n.send.count == 0) return last ? ompl::signal(c, n.rank, mark, deadline) : OMPL_OK;
  if (!n.send.consecutive())
    return last ? send_gathered(c, neighbor, exchange, vectors, mark, deadline) : OMPL_OK;
  const std::size_t bytes = n.send.count * pattern_.element;
  const uint64_t offset = to.slot_there(strategy_.slot(exchange)) + vector * bytes;
  return put(c, pattern_.consecutive(n, vectors[vector]), to, offset, bytes, last ? &mark : nullptr,
             deadline);
}

// Straight into the landing slot where its memory is mapped.
int Flagged::send_gathered(Context& c, std::size_t neighbor, uint64_t exchange,
                           const void* const* vectors, const Signal& mark, Deadline deadline) {
  const NeighborLink& to = links_[neighbor];
  const Neighbor& n = *to.with;
  const unsigned slot = strategy_.slot(exchange);
  std::byte* const packed =
      to.mapped != nullptr ? to.mapped + slot * n.there.stride : region_ + n.gathered;
  pattern_.gather(n, vectors, packed);
  // The signal releases what was stored [10], so it must not fail to follow.
  if (to.mapped != nullptr) return ompl::signal(c, n.rank, mark);
  return put(c, packed, to, to.slot_there(slot), pattern_.to_send(n), &mark, deadline);
}

// Waits for room, not for the put.
int Flagged::put(Context& c, const void* source, const NeighborLink& to, uint64_t offset,
                 std::size_t bytes, const Signal* mark, Deadline deadline) {
  handles_.emplace_back();  // before the put: it must not fail once that is posted
  Handle handle{};
  const auto post = [&](Context& by) {
    return ompl::put_nb(by, source, to.with->rank, offset, bytes, mark, true, &handle);
  };
  int code = post(c);
  if (code > OMPL_PENDING) {  // one of OMPL_RETRY_*
    const Blocked what{.call = Call::halo};
    Blocker blocker(c, what, deadline);
    const int waited = blocker.run([&] {
      code = post(blocker.context());
      if (code == OMPL_RETRY_BUSY) blocker.stay_awake();
      return code > OMPL_PENDING ? 0 : code < OMPL_OK ? code : 1;
    });
    if (waited != OMPL_OK) code = waited;
  }
  if (code == OMPL_PENDING) {
    handles_.back() = handle;
    return OMPL_OK;
  }
  handles_.pop_back();
  return code;
}

int Flagged::test(Context& c) {
  const uint64_t exchange = exchange_.load(std::memory_order_acquire);
  if (exchange == 0) return 1;
  const auto has_arrived = [&](const NeighborLink& from) { return strategy_.arrived(from, exchange); };
  if (!std::ranges::all_of(links_, has_arrived)) return 0;
  const int sent = sent_.load(std::memory_order_acquire);
  return sent != 0 ? sent : test_sent(c);
}

// Whether the vectors may change. A handle is one thread's at a time. Another that comes meanwhile waits for it, a moment: if it
// left with "not yet" it could go to sleep with nobody to wake it, the completion having been found.
int Flagged::test_sent(Context& c) {
  const std::lock_guard lock(handles_mutex_);
  if (const int sent = sent_.load(std::memory_order_relaxed); sent != 0) return sent;
  int code = 1;
  while (code == 1 && !handles_.empty()) {
    code = ompl::test(c, handles_.back());
    if (code != 0) handles_.pop_back();
  }
  sent_.store(code, std::memory_order_release);
  return code;
}

bool Flagged::arrived(std::size_t neighbor) const {
  const uint64_t exchange = exchange_.load(std::memory_order_acquire);
  return exchange == 0 || strategy_.arrived(links_[neighbor], exchange);
}

const std::byte* Flagged::data(std::size_t neighbor) const {
  const Target& here = links_[neighbor].with->here;
  const uint64_t exchange = std::max<uint64_t>(1, exchange_.load(std::memory_order_acquire));
  return region_ + here.landing + strategy_.slot(exchange) * here.stride;
}

}  // namespace ompl::halo
