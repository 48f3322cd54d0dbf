// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait/load.hpp"

namespace ompl {
namespace {
// How long a context counts as loading a core after it last blocked, and how often that is counted.
constexpr int64_t kLoadMemory_ns = 100'000'000;
constexpr int64_t kLoadPeriod_ns = 1'000'000;
}  // namespace

void Load::note(Context& context, int64_t now) {
  context.activity.last_seen_ns.store(now, std::memory_order_relaxed);
  const bool fresh = !context.counted.exchange(true, std::memory_order_acq_rel);
  if (fresh) {
    add(1);
    count(&context);
  }
  int64_t last = counted_ns_.load(std::memory_order_relaxed);
  if (!fresh && now - last < kLoadPeriod_ns) return;
  if (!counted_ns_.compare_exchange_strong(last, now, std::memory_order_relaxed) && !fresh) return;
  if (!counting_.exchange(true, std::memory_order_acquire)) {
    uncount_idle(now);
    counting_.store(false, std::memory_order_release);
  }
  const NodeTotals* const totals = memory_.node().totals();
  uint32_t all = totals != nullptr ? totals->threads.load(std::memory_order_relaxed) : 0;
  for (const uint32_t rank : members_.strangers())
    all += memory_.header(rank).threads.load(std::memory_order_relaxed);
  crowded_.store(all > members_.node_cores(), std::memory_order_relaxed);
}

// For those who look at this rank, and for all who look at the node.
void Load::add(int threads) {
  const auto change = static_cast<uint32_t>(threads);
  memory_.header().threads.fetch_add(change, std::memory_order_relaxed);
  if (NodeTotals* const totals = memory_.node().totals(); totals != nullptr)
    totals->threads.fetch_add(change, std::memory_order_relaxed);
}

void Load::count(Context* context) {
  context->next_counted = counted_.load(std::memory_order_relaxed);
  while (!counted_.compare_exchange_weak(context->next_counted, context, std::memory_order_release,
                                         std::memory_order_relaxed)) {
  }
}

// Takes the whole list, and puts back those that still load a core. One thread at a time.
void Load::uncount_idle(int64_t now) {
  Context* next = nullptr;
  for (Context* c = counted_.exchange(nullptr, std::memory_order_acquire); c != nullptr; c = next) {
    next = c->next_counted;
    const bool idle = c->activity.last_seen_ns.load(std::memory_order_relaxed) + kLoadMemory_ns < now &&
                      c->activity.call.load(std::memory_order_relaxed) == Call::none;
    if (!idle) {
      count(c);
      continue;
    }
    add(-1);
    c->counted.store(false, std::memory_order_release);  // last: it may be counted again at once
  }
}

}  // namespace ompl
