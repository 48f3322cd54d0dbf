// SPDX-License-Identifier: BSD-3-Clause
#include "core/calls/incoming.hpp"

#include <cxxabi.h>

#include <bit>
#include <exception>
#include <optional>
#include <utility>

#include "arch/cancellation.hpp"
#include "core/calls/scope.hpp"
#include "core/calls/try_hold.hpp"
#include "core/data/operations.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::calls {
namespace {
// Calls of one ring in a turn: whoever waits looks at its own matter in between.
constexpr uint32_t kBatch = 32;
// Looks at marked rings in vain, until the marks are taken away.
constexpr uint32_t kIdleLooks = 100;
}  // namespace

// While it lives the thread runs a function, on whose context the functions without a context act.
class IncomingCalls::Running {
 public:
  Running(FunctionContext& by, ExchangeContext exchange)
      : exchange_(exchange), before_(exchange != nullptr ? exchange(by.context) : nullptr) {
    t_function = &by;
  }
  ~Running() {
    t_function = nullptr;
    if (exchange_ != nullptr) exchange_(before_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  const ExchangeContext exchange_;
  Context* const before_;
};

IncomingCalls::IncomingCalls(Runtime& runtime, const Layout& layout, uint64_t begin,
                             FunctionTable& functions, FunctionContexts& contexts, Packing& packing,
                             std::atomic<uint32_t>& unsettled)
    : runtime_(runtime),
      layout_(layout),
      begin_(begin),
      ranks_(runtime.size()),
      bases_(runtime.memory.bases().data()),
      functions_(functions),
      contexts_(contexts),
      packing_(packing),
      unsettled_(unsettled),
      rings_(layout.rings()) {}

IncomingCalls::Ring& IncomingCalls::make_ring(uint32_t number) {
  return rings_.at(number, [this, number] {
    std::byte* const base = runtime_.memory.segment().base() + begin_;
    auto made = std::make_unique<Ring>();
    made->seen = std::make_unique<std::atomic<uint32_t>[]>(layout_.slots());
    made->owner = base + layout_.owner(number);
    made->memory = base + layout_.ring(number);
    return made;
  });
}

uint32_t IncomingCalls::owner(uint32_t number) const {
  return arch::word32(runtime_.memory.segment().base() + begin_ + layout_.owner(number))
             .load(std::memory_order_acquire) -
         1;
}

inline bool IncomingCalls::ready(const Ring& ring) const {
  const uint32_t caller = owner(ring);
  if (caller >= ranks_) return false;
  if (ring.waits.load(std::memory_order_seq_cst) || ring.broken.load(std::memory_order_relaxed))
    return false;
  const uint32_t slot = layout_.slot_behind(ring.next.load(std::memory_order_relaxed));
  return bases_[caller] != nullptr
             ? arch::word32(ring.memory + layout_.ready(slot)).load(std::memory_order_seq_cst) != 0
             : arch::word32(ring.memory + Layout::count(slot)).load(std::memory_order_seq_cst) !=
                   ring.seen[slot].load(std::memory_order_relaxed);
}

// The next entry was read: its slots are free, once the caller is told.
inline void IncomingCalls::pass_on(Ring& ring, bool mapped, uint32_t slots) {
  const uint32_t next = ring.next.load(std::memory_order_relaxed);
  const uint32_t slot = layout_.slot_behind(next);
  if (mapped) {
    for (uint32_t i = 0; i < slots && slot + i < layout_.slots(); ++i)
      arch::word32(ring.memory + layout_.ready(slot + i)).store(0, std::memory_order_relaxed);
  } else {
    ring.seen[slot].store(ring.seen[slot].load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
  }
  ring.next.store(next + slots, std::memory_order_release);
}

bool IncomingCalls::run(ExchangeContext exchange, bool uncancelled) {
  bool any = false;
  if (unsettled_.load(std::memory_order_relaxed) != 0) {
    const arch::Uncancelled whole;
    any = contexts_.settle_parked([this](uint32_t number) {
      ring(number).waits.store(false, std::memory_order_seq_cst);
      runtime_.sleepers.call_arrivals.mark(number);
    });
    pay_owing();
  }
  Arrivals& arrivals = runtime_.sleepers.call_arrivals;
  if (layout_.has_bells()) any = run_bells(exchange) || any;
  const uint64_t marks = arrivals.marks();
  if (marks == 0) return any;
  if (run_rings(marks, exchange, uncancelled)) {
    idle_looks_.store(0, std::memory_order_relaxed);
    return true;
  }
  const uint32_t idle = idle_looks_.load(std::memory_order_relaxed) + 1;
  idle_looks_.store(idle < kIdleLooks ? idle : 0, std::memory_order_relaxed);
  return (idle >= kIdleLooks && run_rings(arrivals.take(), exchange, uncancelled)) || any;
}

// Visits the rings that `marks` stand for, by their numbers.
template <class Visit>
void IncomingCalls::for_each_marked(uint64_t marks, Visit visit) const {
  for (; marks != 0; marks &= marks - 1) {
    for (auto number = static_cast<uint32_t>(std::countr_zero(marks)); number < layout_.rings();
         number += 64)
      visit(number);
  }
}

bool IncomingCalls::run_rings(uint64_t marks, ExchangeContext exchange, bool uncancelled) {
  bool any = false;
  for_each_marked(marks,
                  [&](uint32_t number) { any = run_ring(number, exchange, uncancelled) || any; });
  return any;
}

// What is ready is marked again: its runner may be another thread.
bool IncomingCalls::any_at_last() {
  Arrivals& arrivals = runtime_.sleepers.call_arrivals;
  if (!arrivals.any()) return false;
  bool any = arrivals.any_bells();
  for_each_marked(arrivals.take(), [&](uint32_t number) {
    if (owner(number) >= ranks_ || !ready(ring(number))) return;
    arrivals.mark(number);
    any = true;
  });
  return any;
}

// Whoever finds the ring busy leaves it. Its mark stands again: this thread may have taken it away, and not every holder looks again
// once it has given the ring back.
bool IncomingCalls::run_ring(uint32_t number, ExchangeContext exchange, bool uncancelled) {
  if (rings_.find(number) == nullptr && owner(number) >= ranks_) return false;
  Ring& one = ring(number);
  bool any = false;
  while (ready(one)) {
    std::optional<arch::Uncancelled> whole;
    if (!uncancelled) whole.emplace();
    const TryHold busy(one.busy);
    if (!busy) {
      runtime_.sleepers.call_arrivals.mark(number);
      break;
    }
    const uint32_t ran = take_entries(number, one, exchange);
    any = any || ran > 0;
    if (ran == kBatch) {  // this thread may go now: another one is to go on
      runtime_.sleepers.call_arrivals.mark(number);
      runtime_.sleepers.wake_any(runtime_.rank());
      break;
    }
  }
  return any;
}

uint32_t IncomingCalls::take_entries(uint32_t number, Ring& ring, ExchangeContext exchange) {
  const uint32_t caller = owner(ring);
  if (caller >= ranks_) return 0;
  const bool mapped = bases_[caller] != nullptr;
  std::unique_ptr<FunctionContext>& by = ring.by;
  uint32_t ran = 0;
  while (ran < kBatch && ready(ring)) {
    if (by == nullptr) by = contexts_.take();
    const uint32_t slot = layout_.slot_behind(ring.next.load(std::memory_order_relaxed));
    const auto& entry = *reinterpret_cast<const CallEntry*>(ring.memory + layout_.slot(slot));
    const uint32_t function = entry.function;
    const uint32_t length = entry.length;
    if (length > (is_own(function) ? kOwnArguments : std::size_t{OMPL_CALL_ARGUMENTS})) {
      log::error("a call of rank {} has {} bytes of arguments: no more calls of it can be found",
                 caller, length);
      ring.broken.store(true);
      break;
    }
    if (is_own(function)) {
      packing_.run(caller, entry, *by);
    } else {
      execute(entry, caller, *by, exchange);
    }
    ++ran;
    // A caller of this node waits for its reply, which is on its way before the slot, another cache line, is written.
    bool settled = mapped && contexts_.settle(*by);
    pass_on(ring, mapped, slots_of(length));
    if (tells_at_once(function) ||
        ring.next.load(std::memory_order_relaxed) - ring.told >= layout_.slots() / 4)
      tell(*by->context, number, ring, caller);
    if (!mapped) settled = contexts_.settle(*by);
    if (settled) continue;
    by->holds_ring = by->reply_due;
    by->ring = number;
    ring.waits.store(by->reply_due, std::memory_order_seq_cst);
    contexts_.park(std::exchange(by, nullptr));
  }
  return ran;
}

// `entry` is outside bytes.
void IncomingCalls::execute(const CallEntry& entry, uint32_t caller, FunctionContext& by,
                            ExchangeContext exchange) {
  const bool wanted = entry.reply != 0 && entry.reply <= kReplies;
  by.lands = false;
  const Outcome outcome = call(entry, caller, by, exchange);
  by.reply.code = outcome.code;
  by.reply.value = outcome.value;
  by.reply_due = wanted;
  by.caller = caller;
  by.place = entry.reply - 1;
}

// What the caller is told. No exception leaves it.
IncomingCalls::Outcome IncomingCalls::call(const CallEntry& entry, uint32_t caller, FunctionContext& by,
                                           ExchangeContext exchange) {
  const RemoteFunction* const function = functions_.find(entry.function);
  if (function == nullptr) {
    log::error("rank {} has called function {}, which is not registered here", caller, entry.function);
    return {.code = OMPL_ERR_ARG, .value = 0};
  }
  const ompl_call_context told{.context = reinterpret_cast<ompl_ctx*>(by.context),
                               .source = caller,
                               .function = entry.function,
                               .arguments = &entry + 1,
                               .length = entry.length,
                               .payload = entry.payload,
                               .payload_length = entry.payload_length};
  by.failure.clear();
  try {
    const Running running(by, exchange);
    const uint64_t value = function->code(function->user, &told);
    if (by.failure.empty()) [[likely]]
      return {.code = OMPL_OK, .value = value};
    log::error("function {} that rank {} called failed: {}", function->name, caller, by.failure);
    return {.code = OMPL_ERR_SYSTEM, .value = 0};
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& error) {
    return threw(entry, caller, error.what());
  } catch (...) {
    return threw(entry, caller, "what is no std::exception");
  }
}

IncomingCalls::Outcome IncomingCalls::threw(const CallEntry& entry, uint32_t caller, const char* what) {
  const std::string text = fmt::format("function {} that rank {} called threw an exception: {}",
                                       functions_.find(entry.function)->name, caller, what);
  log::error("{}", text);
  if (entry.reply == 0) runtime_.bootstrap->abort(1, text);
  return {.code = OMPL_ERR_SYSTEM, .value = 0};
}

// How far the ring was read: the caller has so much more room.
void IncomingCalls::tell(Context& c, uint32_t number, Ring& ring, uint32_t caller) {
  const uint32_t next = ring.next.load(std::memory_order_relaxed);
  const Signal record{.offset = begin_ + layout_.taken(runtime_.rank()), .value = next - ring.told};
  if (std::byte* const base = c.bases[caller]; base != nullptr) {
    runtime_.sleepers.raise(caller, base, record);
    runtime_.sleepers.wake_any(caller);  // a call of a function may wait there for room
  } else if (runtime_.network->sender.signal_nb(c, caller, record) >= OMPL_RETRY_FULL) {
    if (ring.owing) return;
    ring.owing = true;
    const std::scoped_lock lock(mutex_);
    owing_.push_back(number);
    unsettled_.fetch_add(1);
    return;
  }
  ring.told = next;
}

void IncomingCalls::pay_owing() {
  std::vector<uint32_t> owing;
  {
    const std::scoped_lock lock(mutex_);
    owing.swap(owing_);
  }
  if (owing.empty()) return;
  std::unique_ptr<FunctionContext> by = contexts_.take();
  for (const uint32_t number : owing) {
    Ring& one = ring(number);
    const TryHold busy(one.busy);
    if (!busy) {
      const std::scoped_lock lock(mutex_);
      owing_.push_back(number);
      continue;
    }
    unsettled_.fetch_sub(1);
    one.owing = false;
    if (const uint32_t caller = owner(number); caller < ranks_) tell(*by->context, number, one, caller);
  }
  contexts_.give_back(std::move(by));
}

// Every endpoint on which something of it has come knows.
bool nothing_can_come(Runtime& runtime, uint32_t dead) {
  if (runtime.memory.bases()[dead] != nullptr) return true;
  for (const Slot& slot : runtime.network->pool.slots()) {
    if (slot.peers->find(dead) != nullptr && slot.endpoint->loss(dead) == OMPL_OK) return false;
  }
  return true;
}

bool IncomingCalls::give_back_rings_of_dead(ExchangeContext exchange) {
  uint32_t left = 0;
  for (uint32_t number = 0; number < layout_.rings(); ++number) {
    const uint32_t caller = owner(number);
    if (caller >= ranks_ || runtime_.failures.peer(caller).failure.load() != OMPL_ERR_PEER) continue;
    ++left;
    if (!nothing_can_come(runtime_, caller)) continue;
    run_ring(number, exchange, true);
    Ring& one = ring(number);
    const TryHold busy(one.busy);
    if (!busy || ready(one) || one.waits.load()) continue;  // the next look will do
    std::byte* const counts = one.memory;
    for (uint32_t slot = 0; slot < layout_.slots(); ++slot) {
      arch::word32(counts + Layout::count(slot)).store(0);
      arch::word32(counts + layout_.ready(slot)).store(0);
      one.seen[slot].store(0);
    }
    one.next.store(0);
    one.told = 0;
    one.broken.store(false);
    arch::word32(one.owner).store(0);
    --left;
  }
  return left == 0;
}

}  // namespace ompl::calls
