// SPDX-License-Identifier: BSD-3-Clause
#include "core/calls/outgoing.hpp"

#include <cstring>

#include "core/calls/scope.hpp"
#include "core/calls/try_hold.hpp"
#include "core/data/operations.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl::calls {
namespace {

void compose(std::byte* slot, const Request& call) {
  std::memcpy(slot, &call.entry, sizeof call.entry);
  std::byte* const arguments = slot + sizeof call.entry;
  if (call.arguments.size() == sizeof(uint64_t)) {  // the commonest length, without a call
    std::memcpy(arguments, call.arguments.data(), sizeof(uint64_t));
  } else if (!call.arguments.empty()) {
    std::memcpy(arguments, call.arguments.data(), call.arguments.size());
  }
}

}  // namespace

OutgoingCalls::OutgoingCalls(Runtime& runtime, const Layout& layout, uint64_t begin)
    : runtime_(runtime),
      layout_(layout),
      begin_(begin),
      own_(runtime.memory.segment().base() + begin),
      routes_(runtime.size()) {}

int OutgoingCalls::try_send(Context& c, const Request& call, uint32_t* end) {
  if (runtime_.failures.peer(call.rank).failure.load(std::memory_order_relaxed) != OMPL_OK) [[unlikely]]
    return runtime_.failures.report_failure();
  Route* const known = routes_.find(call.rank);
  Route& route =
      known != nullptr ? *known : routes_.at(call.rank, [] { return std::make_unique<Route>(); });
  if (!route.open.load(std::memory_order_acquire)) [[unlikely]] {
    if (const int code = open(c, call.rank, route); code != OMPL_OK) return code;
  }
  if (route.without_ring) [[unlikely]]
    return call.ring_only ? OMPL_ERR_MEMORY : leave_in_outbox(c, call, route);
  return c.bases[call.rank] != nullptr ? write(c, call, route, end) : post(c, call, route, end);
}

const std::atomic<uint32_t>& OutgoingCalls::taken(uint32_t rank) const {
  return *reinterpret_cast<const std::atomic<uint32_t>*>(own_ + layout_.taken(rank));
}

bool OutgoingCalls::all_told(uint32_t rank) const {
  Route* const route = routes_.find(rank);
  if (route == nullptr || !route->tells.load(std::memory_order_acquire)) return true;
  const uint32_t until = route->tells_until.load(std::memory_order_relaxed);
  return static_cast<int32_t>(taken(rank).load(std::memory_order_seq_cst) - until) >= 0;
}

// --- The ring at the target. Each rank begins at another one, so few find theirs taken.

uint32_t OutgoingCalls::ring_asked(const Route& route) const {
  return (runtime_.rank() + route.asked) % layout_.rings();
}

int OutgoingCalls::open(Context& c, uint32_t rank, Route& route) {
  const TryHold lock(route.locked);
  if (!lock) return OMPL_RETRY_BUSY;
  while (!route.open.load(std::memory_order_relaxed)) {
    if (const int code = ask(c, rank, route); code != OMPL_OK) return code;
    if (route.owner == 0) {
      route.ring = ring_asked(route);
      if (c.bases[rank] == nullptr)
        route.shadow = std::make_unique<std::byte[]>(layout_.slot(layout_.slots()) - layout_.slot(0) +
                                                     kLongestEntry);
      route.open.store(true, std::memory_order_release);
    } else if (++route.asked == layout_.rings()) {
      route.without_ring = true;
      route.open.store(true, std::memory_order_release);
    }
  }
  return OMPL_OK;
}

// OMPL_OK: route.owner is whose the ring was.
int OutgoingCalls::ask(Context& c, uint32_t rank, Route& route) {
  const Signal request{.offset = begin_ + layout_.owner(ring_asked(route)),
                       .value = runtime_.rank() + 1,
                       .compare = 0,
                       .function = conduit::Function::compare_swap};
  if (std::byte* const base = c.bases[rank]; base != nullptr) {
    route.owner = static_cast<uint32_t>(update(base + request.offset, request));
    return OMPL_OK;
  }
  if (route.question.kind == Pending::Kind::none) {
    Handle question{};
    question.before = &route.owner;
    question.width = sizeof route.owner;
    const int code = runtime_.network->sender.fetch_nb(c, rank, request, &question);
    if (code != OMPL_PENDING) return code;
    route.question = question;
  }
  const int state = test(c, route.question);
  if (state == 0) return OMPL_RETRY_CONNECTING;
  return state > 0 ? OMPL_OK : state;
}

bool OutgoingCalls::has_room(uint32_t rank, uint32_t head, uint32_t slots) const {
  return head + slots - taken(rank).load(std::memory_order_seq_cst) <= layout_.slots();
}

// Into a ring that is mapped. Others may write behind it at the same time.
int OutgoingCalls::write(Context& c, const Request& call, Route& route, uint32_t* end) {
  const uint32_t slots = slots_of(call.arguments.size());
  uint32_t head = route.head.load(std::memory_order_relaxed);
  do {
    if (!has_room(call.rank, head, slots)) return OMPL_RETRY_FULL;
  } while (!route.head.compare_exchange_weak(head, head + slots, std::memory_order_relaxed));
  const uint32_t slot = layout_.slot_behind(head);
  std::byte* const base = c.bases[call.rank];
  std::byte* const ring = base + begin_ + layout_.ring(route.ring);
  if (call.payload != nullptr)
    c.put_mapped(call.payload, call.rank, call.entry.payload, call.entry.payload_length);
  compose(ring + layout_.slot(slot), call);
  // Before the looks for a mark and for sleepers [15].
  arch::word32(ring + layout_.ready(slot)).exchange(1, std::memory_order_seq_cst);
  Arrivals::leave(*reinterpret_cast<std::atomic<uint64_t>*>(base + begin_ + layout_.arrivals()),
                  route.ring);
  runtime_.sleepers.wake_any(call.rank);
  if (end != nullptr) *end = head + slots;
  return OMPL_OK;
}

int OutgoingCalls::post(Context& c, const Request& call, Route& route, uint32_t* end) {
  const TryHold lock(route.locked);
  if (!lock) return OMPL_RETRY_BUSY;
  const WithoutFunctions alone;
  const uint32_t slots = slots_of(call.arguments.size());
  const uint32_t head = route.head.load(std::memory_order_relaxed);
  if (!has_room(call.rank, head, slots)) return OMPL_RETRY_FULL;
  if (call.payload != nullptr) {
    const int code = runtime_.network->sender.put_nb(c, call.payload, call.rank, call.entry.payload,
                                                     call.entry.payload_length, nullptr, true, nullptr);
    if (code != OMPL_OK && code != OMPL_PENDING) return code;
  }
  const uint32_t slot = layout_.slot_behind(head);
  std::byte* const image = route.shadow.get() + std::size_t{slot} * kSlotBytes;
  compose(image, call);
  const std::size_t length = sizeof call.entry + call.arguments.size();
  int code = post_entry(c, call, image, length, slot, route);
  if (is_retry(code) && call.payload != nullptr) code = insist(c, call, image, length, slot, route);
  if (code != OMPL_OK) return code;
  route.head.store(head + slots, std::memory_order_relaxed);
  if (tells_at_once(call.entry.function)) {
    route.tells_until.store(head + slots, std::memory_order_relaxed);
    route.tells.store(true, std::memory_order_release);
  }
  if (end != nullptr) *end = head + slots;
  return code;
}

int OutgoingCalls::post_entry(Context& c, const Request& call, const void* image, std::size_t length,
                              uint32_t slot, const Route& route) {
  const uint64_t ring = begin_ + layout_.ring(route.ring);
  const Signal record{.offset = ring + Layout::count(slot)};
  // The ring itself keeps the order among its entries.
  const PeerChannel::InRing within(runtime_.network->sender.channel(c, call.rank));
  const int code = runtime_.network->sender.put_nb(c, image, call.rank, ring + layout_.slot(slot),
                                                   length, &record, true, nullptr);
  return code == OMPL_PENDING ? OMPL_OK : code;
}

// The payload is under way: the call must follow it, whatever the time.
int OutgoingCalls::insist(Context& c, const Request& call, const void* image, std::size_t length,
                          uint32_t slot, const Route& route) {
  const Blocked what{.call = Call::put_signal, .peer = call.rank, .keeps_thread = true};
  Blocker blocker(c, what, Deadline::never());
  return blocker.run([&] {
    const int code = post_entry(blocker.context(), call, image, length, slot, route);
    return code == OMPL_OK ? 1 : is_retry(code) ? 0 : code;
  });
}

// --- Without a ring: the call lies in the own outbox until the target has fetched and run it.

// OMPL_RETRY_FULL: all are in use. A place serves again once its target has told that it has run the call, or has died. One
// that is only out of reach may still read it.
int OutgoingCalls::take_place(uint32_t rank, uint32_t end, uint32_t* taken_place) {
  const std::scoped_lock lock(outbox_mutex_);
  uint32_t free = kOutbox;
  uint32_t lost = 0;
  for (uint32_t i = 0; i < kOutbox; ++i) {  // of all, since the numbers of slots begin again some time
    Place& place = outbox_[i];
    if (!place.used) {
      free = i;
      continue;
    }
    const int failure = runtime_.failures.peer(place.rank).failure.load();
    const bool over = static_cast<int32_t>(taken(place.rank).load() - place.end) >= 0;
    if (over || failure == OMPL_ERR_PEER) {
      place.used = false;
      free = i;
    } else if (failure != OMPL_OK) {
      ++lost;
    }
  }
  if (lost == kOutbox)
    return fail(OMPL_ERR_LINK, "ompl_call: {} ranks went out of reach before they took their calls",
                kOutbox);
  if (free == kOutbox) return OMPL_RETRY_FULL;
  outbox_[free] = {.used = true, .rank = rank, .end = end};
  *taken_place = free;
  return OMPL_OK;
}

// One at a time for each target, so that they run in order.
int OutgoingCalls::leave_in_outbox(Context& c, const Request& call, Route& route) {
  const TryHold lock(route.locked);
  if (!lock) return OMPL_RETRY_BUSY;
  const WithoutFunctions alone;
  const uint32_t head = route.head.load(std::memory_order_relaxed);
  if (taken(call.rank).load(std::memory_order_seq_cst) != head) return OMPL_RETRY_FULL;
  const uint32_t slots = slots_of(call.arguments.size());
  uint32_t place = 0;
  if (const int code = take_place(call.rank, head + slots, &place); code != OMPL_OK) return code;
  compose(own_ + layout_.outbox(place), call);
  const int code = ring_bell(c, call, bell(place, slots));
  if (code == OMPL_OK) {
    route.head.store(head + slots, std::memory_order_relaxed);
  } else {
    const std::scoped_lock guard(outbox_mutex_);
    outbox_[place].used = false;
  }
  return code;
}

int OutgoingCalls::ring_bell(Context& c, const Request& call, uint32_t value) {
  const Signal record{.offset = begin_ + layout_.bell_of(runtime_.rank()),
                      .value = value,
                      .function = conduit::Function::set};
  if (std::byte* const base = c.bases[call.rank]; base != nullptr) {
    if (call.payload != nullptr)
      c.put_mapped(call.payload, call.rank, call.entry.payload, call.entry.payload_length);
    arch::word32(base + record.offset).exchange(value, std::memory_order_seq_cst);
    Arrivals::leave(*reinterpret_cast<std::atomic<uint64_t>*>(base + begin_ + layout_.bell_marks()),
                    runtime_.rank() / layout_.ranks_of_mark());
    runtime_.sleepers.wake_any(call.rank);
    return OMPL_OK;
  }
  Sender& sender = runtime_.network->sender;
  if (call.payload == nullptr) return sender.signal_nb(c, call.rank, record);
  const int code = sender.put_nb(c, call.payload, call.rank, call.entry.payload,
                                 call.entry.payload_length, nullptr, true, nullptr);
  if (code != OMPL_OK && code != OMPL_PENDING) return code;
  return sender.signal(c, call.rank, record,
                       Deadline::never());  // whatever the time: the payload is under way
}

}  // namespace ompl::calls
