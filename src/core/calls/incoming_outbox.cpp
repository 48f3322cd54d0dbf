// SPDX-License-Identifier: BSD-3-Clause
// Calls of ranks that found no ring here. The caller leaves a call in its own segment and sets its bell in this one; this
// rank fetches it, runs it, and tells the caller, which then may leave the next one. So there is no bound to the number of
// callers, and none waits for another.
#include <algorithm>
#include <bit>
#include <cstring>

#include "arch/cancellation.hpp"
#include "core/calls/incoming.hpp"
#include "core/data/operations.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/log.hpp"

namespace ompl::calls {
namespace {
// Calls that are fetched at the same time; the other bells stay.
constexpr std::size_t kMostFetches = 64;
}  // namespace

bool IncomingCalls::run_bells(ExchangeContext exchange) {
  const arch::Uncancelled whole;
  // What is left goes back, also if a function ends its thread.
  struct Taken {
    IncomingCalls& from;
    std::list<Fetch> list;
    ~Taken() {
      const std::scoped_lock lock(from.fetches_mutex_);
      from.fetches_.splice(from.fetches_.end(), list);
    }
  } taken{*this, {}};
  std::list<Fetch>& mine = taken.list;
  {
    const std::unique_lock lock(fetches_mutex_, std::try_to_lock);
    if (!lock) return false;
    if (runtime_.sleepers.call_arrivals.any_bells()) hear_bells();
    mine.swap(fetches_);
  }
  bool any = false;
  for (auto one = mine.begin(); one != mine.end();) {
    const Fetch::State before = one->state;
    const bool over = advance(*one, exchange);
    any = any || over || one->state != before;
    if (!over) {
      ++one;
      continue;
    }
    if (one->by != nullptr) contexts_.give_back(std::move(one->by));
    one = mine.erase(one);
    unsettled_.fetch_sub(1);
  }
  return any;
}

// Takes the bells that were set, as far as there is room, from the rank behind the last one that was heard: so none waits
// while others are heard again and again.
void IncomingCalls::hear_bells() {
  Arrivals& arrivals = runtime_.sleepers.call_arrivals;
  const uint32_t width = layout_.ranks_of_mark();
  std::byte* const base = runtime_.memory.segment().base() + begin_;
  const uint64_t marks = arrivals.take_bells();
  const auto hear = [&](uint32_t from, uint32_t end) {
    for (uint32_t caller = from; caller < end; ++caller) {
      const uint32_t group = caller / width;
      if ((marks >> group & 1) == 0) {
        caller = (group + 1) * width - 1;
        continue;
      }
      const auto word = arch::word32(base + layout_.bell_of(caller));
      if (word.load(std::memory_order_seq_cst) == 0) continue;
      if (fetches_.size() >= kMostFetches) {
        arrivals.mark_bells(group);
        caller = (group + 1) * width - 1;
        continue;
      }
      hear_bell(caller, word.exchange(0, std::memory_order_seq_cst));
      first_bell_ = caller + 1;
    }
  };
  const uint32_t first = first_bell_;
  hear(first, runtime_.size());
  hear(0, std::min(first, runtime_.size()));
}

void IncomingCalls::hear_bell(uint32_t caller, uint32_t value) {
  const uint32_t slots = slots_of_bell(value);
  if (place_of_bell(value) >= kOutbox || slots == 0 || slots > slots_of(kOwnArguments)) {
    log::error("the bell of rank {} says {:#x}: dropped", caller, value);
    return;
  }
  Fetch heard{};
  heard.caller = caller;
  heard.place = place_of_bell(value);
  heard.slots = slots;
  fetches_.push_back(std::move(heard));
  unsettled_.fetch_add(1);
}

// True: nothing is left to do.
bool IncomingCalls::advance(Fetch& one, ExchangeContext exchange) {
  if (one.by == nullptr) one.by = contexts_.take();
  if (one.state <= Fetch::State::asked && !fetch(one)) return true;
  if (one.state == Fetch::State::ready) run_fetched(one, exchange);
  if (one.state == Fetch::State::replies) settle_fetched(one);
  if (one.state != Fetch::State::ran) return false;
  const Signal record{.offset = begin_ + layout_.taken(runtime_.rank()), .value = one.slots};
  if (std::byte* const base = runtime_.memory.bases()[one.caller]; base != nullptr) {
    runtime_.sleepers.raise(one.caller, base, record);
    runtime_.sleepers.wake_any(one.caller);  // a call of a function may wait there for room
    return true;
  }
  return runtime_.network->sender.signal_nb(*one.by->context, one.caller, record) < OMPL_RETRY_FULL;
}

// False: it cannot be had any more.
bool IncomingCalls::fetch(Fetch& one) {
  if (runtime_.memory.bases()[one.caller] != nullptr) {
    one.state = Fetch::State::ready;
    return true;
  }
  Context& c = *one.by->context;
  if (one.state == Fetch::State::rung) {
    if (one.copy == nullptr) one.copy = std::make_unique<std::byte[]>(kLongestEntry);
    const int code = runtime_.network->sender.get_nb(c, one.copy.get(), one.caller,
                                                     begin_ + layout_.outbox(one.place),
                                                     std::size_t{one.slots} * kSlotBytes, &one.get);
    if (code >= OMPL_RETRY_FULL) return true;
    if (code < OMPL_OK) return false;
    one.state = code == OMPL_OK ? Fetch::State::ready : Fetch::State::asked;
    if (code == OMPL_OK) return true;
  }
  const int state = test(c, one.get);
  if (state == 1) one.state = Fetch::State::ready;
  return state >= 0;
}

void IncomingCalls::run_fetched(Fetch& one, ExchangeContext exchange) {
  const std::byte* const base = runtime_.memory.bases()[one.caller];
  const auto& entry = *reinterpret_cast<const CallEntry*>(
      base != nullptr ? base + begin_ + layout_.outbox(one.place) : one.copy.get());
  one.state = Fetch::State::ran;
  const uint32_t length = entry.length;
  if (length > kOwnArguments || slots_of(length) != one.slots ||
      (!is_own(entry.function) && length > OMPL_CALL_ARGUMENTS)) {
    log::error("a call of rank {} that was fetched has {} bytes of arguments: dropped", one.caller,
               length);
    return;
  }
  if (is_own(entry.function)) {
    packing_.run(one.caller, entry, *one.by);
  } else {
    execute(entry, one.caller, *one.by, exchange);
  }
  one.state = Fetch::State::replies;
}

// The caller is told once its reply has gone out, so that no more than one of its replies waits here.
void IncomingCalls::settle_fetched(Fetch& one) {
  const bool settled = contexts_.settle(*one.by);
  if (one.by->reply_due) return;
  one.state = Fetch::State::ran;
  if (settled) return;
  one.by->holds_ring = false;
  contexts_.park(std::move(one.by));
  one.by = contexts_.take();
}

}  // namespace ompl::calls
