// SPDX-License-Identifier: BSD-3-Clause
// What happens at receivers in the order of time: the part of Transfers that takes events.
#pragma once

#include "model/replay/transfers.hpp"

namespace ompl::model {

template <class Clock>
bool Transfers<Clock>::step(uint64_t last) {
  uint32_t receiver = 0;
  double until_ns = 0;
  if (!agenda_.next(receiver, until_ns, last)) return false;
  Port<Clock>& port = ports_[receiver];
  while (true) {
    const double event = port.next_event();
    const double end = port.next_end_ns();
    const double next = std::min(event, end);
    if (next > until_ns) {
      if (std::isfinite(next)) agenda_.at(receiver, next);
      return true;
    }
    if (event > end) {
      end_use(port);
    } else if (take(port)) {
      agenda_.at(receiver, next);
      return true;
    }
  }
}

// Whether a thread must go on before anything else happens.
template <class Clock>
bool Transfers<Clock>::take(Port<Clock>& port) {
  const Event event = port.pop();
  switch (event.kind) {
    case EventKind::freed:
      free_buffer(event.message);
      break;
    case EventKind::begin:
    case EventKind::envelope:
    case EventKind::queued:
      take_simultaneous(port, event);
      break;
    case EventKind::call:
      take_call(port, event);
      return true;
  }
  return false;
}

// Of several calls at one instant that of the thread with the lowest number.
template <class Clock>
void Transfers<Clock>::take_call(Port<Clock>& port, Event event) {
  std::vector<Event> others;
  while (port.next_event() == event.ns && port.events.front().kind == EventKind::call) {
    others.push_back(port.pop());
    if (others.back().message < event.message) std::swap(others.back(), event);
  }
  for (const Event& other : others) port.push(other);
  ready.push_back(event.message);
}

// A message has used the bandwidth for its work.
template <class Clock>
void Transfers<Clock>::end_use(Port<Clock>& port) {
  Clock when = port.next_end();
  const uint32_t i = port.end();
  const Message<Clock>& m = messages[i];
  continue_path(when, m.began);
  switch (parts_of(m).carrier) {
    case Carrier::send:
      left_sender(i, when);
      break;
    case Carrier::recv:
      end_receive(i, when);
      break;
    default:
      arrive(i, when + costs.wire());
  }
}

// All messages to which the same happens at this instant, in an order that does not depend on how they came to be known:
// their turn.
template <class Clock>
void Transfers<Clock>::take_simultaneous(Port<Clock>& port, const Event& event) {
  const auto one_more = [&] {
    return port.next_event() == event.ns && port.events.front().kind == event.kind;
  };
  if (!one_more()) return take_one(port, event.kind, event.message);
  std::vector<uint32_t> all{event.message};
  while (one_more()) all.push_back(port.pop().message);
  std::ranges::sort(all, {}, [this](uint32_t i) { return messages[i].turn(); });
  for (const uint32_t i : all) take_one(port, event.kind, i);
}

template <class Clock>
void Transfers<Clock>::take_one(Port<Clock>& port, EventKind kind, uint32_t i) {
  if (kind == EventKind::envelope) return take_envelope(i);
  if (kind == EventKind::queued) return queue_at_receiver(i);
  const Message<Clock>& m = messages[i];
  port.begin(i, m.began, work(m), m.turn());
}

template <class Clock>
void Transfers<Clock>::take_envelope(uint32_t i) {
  Message<Clock>& m = messages[i];
  const uint32_t receive = any_[place(m.envelope.target)]->arrive(m.envelope, i);
  if (receive == kNone) return;
  Message<Clock>& r = messages[receive];
  m.has_recv = true;
  m.posted = r.posted;
  m.recv_site = r.recv_site;
  m.recv_waiter = r.recv_waiter;
  r.moved = true;
  r.next = i;
  matched(i);
}

template <class Clock>
void Transfers<Clock>::queue_at_receiver(uint32_t i) {
  const Message<Clock>& m = messages[i];
  if (queue_free_.empty()) queue_free_.resize(ports_.size());
  Clock& free = queue_free_[place(m.envelope.target)];
  const Clock start = later(m.began, free);
  const Clock& gap = parts_of(m).gap;
  free = start + costs.message_gap_time() + gap;
  arrive(i, start + gap);
}

template <class Clock>
void Transfers<Clock>::free_buffer(uint32_t i) {
  Message<Clock>& m = messages[i];
  m.held = false;
  if (m.send_over && m.recv_over) messages.free(i);  // which leaves what it says
  buffers_.free(static_cast<uint32_t>(m.envelope.source), m.envelope.target, m.bytes, m.recv_end,
                ready);
}

}  // namespace ompl::model
