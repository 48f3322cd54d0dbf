// SPDX-License-Identifier: BSD-3-Clause
// The messages of a replay: matching, the handshake, the sharing of bandwidth. It knows the times of calls and tells
// when calls end; what ranks do with that is the replayer's (replay.cpp).
//
// Events are taken in the order of time. A rank runs as far ahead as its calls' ends are known, and what it sends
// then lies in the future of all events taken, so the order holds.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "model/agenda.hpp"
#include "model/costs.hpp"
#include "model/error.hpp"
#include "model/matching.hpp"
#include "model/message.hpp"
#include "model/port.hpp"
#include "model/replay.hpp"

namespace ompl::model {

template <class Clock>
class Transfers {
 public:
  // `in_order`: calls are told by wait_turn().
  Transfers(const Parameters& parameters, const Options& options, uint32_t ranks, bool in_order)
      : costs(parameters),
        options_(options),
        agenda_(ranks, in_order ? 0 : costs.lookahead_ns()),
        exact_(messages),
        any_(ranks),
        ports_(ranks),
        calls_(ranks) {}

  // Whether a send takes the handshake.
  [[nodiscard]] bool is_rendezvous(const Op& op) const {
    return op.synchronous || (!op.buffered && costs.is_rendezvous(op.bytes));
  }

  // A send or receive is called; the number of its message, or of the receive until a message is found.
  // `unlimited`: by no eager buffer.
  uint32_t send(const Caller& caller, const Op& op, const Clock& now, bool unlimited);
  uint32_t receive(const Caller& caller, const Op& op, const Clock& now);

  // `who` stands still until this end is known; it will be among `ready` then, once for each.
  void await(uint32_t message, bool is_send, uint32_t who) {
    Message<Clock>& m = messages[message];
    (is_send ? m.send_waiter : m.recv_waiter) = who;
  }
  // The rank has no more to do with it.
  void leave(uint32_t message, bool is_send);
  // The message of a receive that was posted before its message was found.
  uint32_t follow(uint32_t message) {
    while (messages[message].moved) message = messages[message].next;
    return message;
  }

  // Of the eager buffer: whether a message may leave now. If not, the thread will be among `ready` when it may, and
  // freed_at() tells since when.
  bool admit(const Caller& caller, const Op& op);
  const Clock& freed_at(const Caller& caller, const Op& op) {
    return buffers_[pair(caller.rank, op)].freed;
  }

  // A thread of a rank of several wants to send or receive: it will be among `ready` when nothing earlier will happen any more.
  void wait_turn(const Caller& caller, const Clock& now) {
    ports_[caller.rank].push({ns(now), EventKind::call, caller.thread});
    agenda_.at(caller.rank, ns(now));
  }

  // Takes the next events at one receiver; false if there are none.
  bool step();

  // From the call of a send to the arrival of its request.
  [[nodiscard]] Clock request_arrival(const Message<Clock>& m) const { return m.sent + costs.notice(); }
  // When both processors know that the message may come: the call of the send + T4 + T5.
  [[nodiscard]] Clock handshake_end(const Message<Clock>& m) const {
    const Clock seen = later(request_arrival(m), m.posted) + costs.take_notice();
    return costs.is_loggops() ? seen : seen + costs.notice() + costs.take_notice();
  }

  const Costs<Clock> costs;
  Messages<Clock> messages;
  std::vector<uint32_t> ready;

 private:
  struct Buffer {
    struct Waiting {
      uint32_t thread;
      uint64_t needs;  // bytes
    };
    uint64_t used = 0;
    std::vector<Waiting> waiting;  // first come first served, as far as they fit
    Clock freed{};
    [[nodiscard]] bool has_room(uint64_t bytes, uint64_t limit) const {
      return used == 0 || used + bytes <= limit;
    }
  };
  struct Calls {
    uint64_t sends = 0, receives = 0;
  };

  static uint64_t pair(uint32_t rank, const Op& op) {
    return uint64_t{rank} << 32 | static_cast<uint32_t>(op.peer);
  }

  void check(uint32_t rank, const Op& op) const;
  void make_any(uint32_t rank);
  // An event at the message's receiver.
  void push(const Clock& when, EventKind kind, uint32_t i) {
    const uint32_t receiver = messages[i].envelope.target;
    ports_[receiver].push({ns(when), kind, i});
    agenda_.at(receiver, ns(when));
  }

  // The life of a message, in this order.
  void matched(uint32_t i);
  void begin(uint32_t i, const Clock& from);
  void begin_loggops(uint32_t i, const Clock& from);
  void left_sender(uint32_t i, const Clock& when);
  void arrive(uint32_t i, const Clock& when);
  void deliver(uint32_t i);
  void end_send(uint32_t i, const Clock& when);
  void end_receive(uint32_t i, const Clock& when);

  // Begins to use the receiver's bandwidth if the messages of this model and length do so in that part.
  bool share(uint32_t i, Carrier part, const Clock& from, const Clock& work);
  [[nodiscard]] const Clock& work(const Message<Clock>& m) const;
  [[nodiscard]] const Parts<Clock>& parts_of(const Message<Clock>& m) const {
    return costs.parts(m.bytes, m.rendezvous);
  }
  bool take(Port<Clock>& port);
  void end_use(Port<Clock>& port);
  void take_simultaneous(Port<Clock>& port, const Event& event);
  void take_call(Port<Clock>& port, Event event);
  void take_envelope(uint32_t i);
  void queue_at_receiver(uint32_t i);
  void free_buffer(uint32_t i);

  Options options_;
  Agenda agenda_;
  ExactMatches<Clock> exact_;
  std::vector<std::unique_ptr<AnyMatches>> any_;  // of the ranks that receive from any
  std::vector<Port<Clock>> ports_;
  std::vector<Clock> queue_free_;  // LogGOPS: when a receiver's network can take the next message
  std::vector<Calls> calls_;
  std::unordered_map<uint64_t, Buffer> buffers_;
};

template <class Clock>
void Transfers<Clock>::check(uint32_t rank, const Op& op) const {
  const bool receives = op.kind == OpKind::recv || op.kind == OpKind::irecv;
  const int32_t least = receives ? Op::kAny : 0;
  if (op.peer < least || (op.peer >= 0 && static_cast<std::size_t>(op.peer) >= ports_.size()))
    refuse("rank {}: an operation names rank {}, but there are {}", rank, op.peer, ports_.size());
  if (op.tag < least) refuse("rank {}: an operation has the tag {}", rank, op.tag);
}

template <class Clock>
uint32_t Transfers<Clock>::send(const Caller& caller, const Op& op, const Clock& now, bool unlimited) {
  const uint32_t rank = caller.rank;
  check(rank, op);
  const Envelope envelope{static_cast<uint32_t>(op.peer), static_cast<int32_t>(rank), op.tag,
                          op.communicator};
  const bool any = any_[envelope.target] != nullptr;
  uint32_t i = any ? kNone : exact_.take(envelope, false);
  const bool found = i != kNone;
  if (!found) i = messages.make();
  Message<Clock>& m = messages[i];
  m.envelope = envelope;
  m.has_send = true;
  m.thread = caller.thread;
  m.sent = now;
  m.bytes = op.bytes;
  m.send_site = op.site;
  m.rendezvous = is_rendezvous(op);
  m.unlimited = unlimited || options_.eager_buffer == 0 || m.rendezvous;
  m.order = calls_[rank].sends++;
  if (any)
    push(request_arrival(m), EventKind::envelope, i);
  else if (!found)
    exact_.add(i);
  if (!m.rendezvous)
    begin(i, m.sent);
  else if (found)
    matched(i);
  return i;
}

template <class Clock>
uint32_t Transfers<Clock>::receive(const Caller& caller, const Op& op, const Clock& now) {
  const uint32_t rank = caller.rank;
  check(rank, op);
  const Envelope envelope{rank, op.peer, op.tag, op.communicator};
  if (envelope.any() && any_[rank] == nullptr) make_any(rank);
  uint32_t i = kNone;
  uint32_t own = kNone;
  if (any_[rank] != nullptr) {
    own = messages.make();
    i = any_[rank]->post(envelope, own);
    if (i != kNone) messages.free(own);
  } else {
    i = exact_.take(envelope, true);
  }
  const bool found = i != kNone;
  if (!found) i = own != kNone ? own : messages.make();
  Message<Clock>& m = messages[i];
  m.has_recv = true;
  m.posted = now;
  m.recv_site = op.site;
  if (found) {
    matched(i);
    return i;
  }
  m.envelope = envelope;
  m.thread = caller.thread;
  m.order = calls_[rank].receives++;
  if (own == kNone) exact_.add(i);
  return i;
}

// The first receive from any of this rank: from now on arrivals are taken in the order of time.
template <class Clock>
void Transfers<Clock>::make_any(uint32_t rank) {
  any_[rank] = std::make_unique<AnyMatches>();
  std::vector<uint32_t> waiting = exact_.take_all(rank);
  std::ranges::sort(waiting, {}, [this](uint32_t i) { return messages[i].order; });
  for (const uint32_t i : waiting) {
    Message<Clock>& m = messages[i];
    m.next = kNone;
    if (m.has_send)
      push(request_arrival(m), EventKind::envelope, i);
    else
      any_[rank]->post(m.envelope, i);
  }
}

template <class Clock>
void Transfers<Clock>::leave(uint32_t message, bool is_send) {
  while (messages[message].moved) [[unlikely]] {
      const uint32_t next = messages[message].next;
      messages.free(message);
      message = next;
    }
  Message<Clock>& m = messages[message];
  if (is_send)
    m.send_over = true;
  else
    m.recv_over = true;
  if (m.send_over && m.recv_over && !m.held) messages.free(message);
}

template <class Clock>
void Transfers<Clock>::matched(uint32_t i) {
  const Message<Clock>& m = messages[i];
  if (m.rendezvous)
    begin(i, handshake_end(m));
  else if (m.arrived)
    deliver(i);
}

// T1 and T2, from the call of the send or the end of the handshake.
template <class Clock>
void Transfers<Clock>::begin(uint32_t i, const Clock& from) {
  const Message<Clock>& m = messages[i];
  if (costs.is_loggops()) return begin_loggops(i, from);
  const Parts<Clock>& parts = parts_of(m);
  const Clock start = from + parts.send_fixed;
  if (!share(i, Carrier::send, start, parts.send_slope)) left_sender(i, start + parts.send_slope);
}

// The sender's overhead comes before the handshake, and the handshake costs nothing.
template <class Clock>
void Transfers<Clock>::begin_loggops(uint32_t i, const Clock& from) {
  Message<Clock>& m = messages[i];
  const Parts<Clock>& parts = parts_of(m);
  const Clock sent = m.sent + parts.post_send;
  end_send(i, m.rendezvous ? later(from, sent) : sent);
  m.began = m.rendezvous ? from : request_arrival(m);
  if (options_.sharing)
    push(m.began, EventKind::queued, i);
  else
    arrive(i, m.began + parts.gap);
}

template <class Clock>
void Transfers<Clock>::left_sender(uint32_t i, const Clock& when) {
  end_send(i, when);
  const Clock& gap = parts_of(messages[i]).gap;
  if (!share(i, Carrier::gap, when, gap)) arrive(i, when + gap + costs.wire());
}

template <class Clock>
void Transfers<Clock>::arrive(uint32_t i, const Clock& when) {
  Message<Clock>& m = messages[i];
  m.arrival = when;
  m.arrived = true;
  if (m.has_recv) deliver(i);
}

// T3.
template <class Clock>
void Transfers<Clock>::deliver(uint32_t i) {
  const Message<Clock>& m = messages[i];
  const Parts<Clock>& parts = parts_of(m);
  const Clock start = later(m.arrival, m.posted) + parts.recv_fixed;
  if (!share(i, Carrier::recv, start, parts.recv_slope)) end_receive(i, start + parts.recv_slope);
}

template <class Clock>
void Transfers<Clock>::end_send(uint32_t i, const Clock& when) {
  Message<Clock>& m = messages[i];
  m.send_end = when;
  m.send_known = true;
  if (m.send_waiter != kNone) ready.push_back(m.send_waiter);
}

template <class Clock>
void Transfers<Clock>::end_receive(uint32_t i, const Clock& when) {
  Message<Clock>& m = messages[i];
  m.recv_end = when;
  m.recv_known = true;
  if (m.recv_waiter != kNone) ready.push_back(m.recv_waiter);
  if (m.unlimited) return;
  m.held = true;
  push(when, EventKind::freed, i);
}

template <class Clock>
bool Transfers<Clock>::share(uint32_t i, Carrier part, const Clock& from, const Clock& work) {
  Message<Clock>& m = messages[i];
  if (!options_.sharing || costs.is_loggops() || ns(work) <= 0) return false;
  if (parts_of(m).carrier != part) return false;
  m.began = from;
  push(from, EventKind::begin, i);
  return true;
}

template <class Clock>
const Clock& Transfers<Clock>::work(const Message<Clock>& m) const {
  const Parts<Clock>& parts = parts_of(m);
  if (parts.carrier == Carrier::send) return parts.send_slope;
  return parts.carrier == Carrier::recv ? parts.recv_slope : parts.gap;
}

template <class Clock>
bool Transfers<Clock>::step() {
  uint32_t receiver = 0;
  double until_ns = 0;
  if (!agenda_.next(receiver, until_ns)) return false;
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
    case EventKind::begin: {
      const Message<Clock>& m = messages[event.message];
      port.begin(event.message, m.began, work(m));
      break;
    }
    case EventKind::freed:
      free_buffer(event.message);
      break;
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
// that of senders and of their sends.
template <class Clock>
void Transfers<Clock>::take_simultaneous(Port<Clock>& port, const Event& event) {
  std::vector<uint32_t> all{event.message};
  while (port.next_event() == event.ns && port.events.front().kind == event.kind)
    all.push_back(port.pop().message);
  std::ranges::sort(all, {}, [this](uint32_t i) {
    return std::pair{messages[i].envelope.source, messages[i].order};
  });
  for (const uint32_t i : all)
    event.kind == EventKind::envelope ? take_envelope(i) : queue_at_receiver(i);
}

template <class Clock>
void Transfers<Clock>::take_envelope(uint32_t i) {
  Message<Clock>& m = messages[i];
  const uint32_t receive = any_[m.envelope.target]->arrive(m.envelope, i);
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
  Clock& free = queue_free_[m.envelope.target];
  const Clock start = later(m.began, free);
  const Clock& gap = parts_of(m).gap;
  free = start + costs.message_gap_time() + gap;
  arrive(i, start + gap);
}

template <class Clock>
bool Transfers<Clock>::admit(const Caller& caller, const Op& op) {
  if (options_.eager_buffer == 0 || is_rendezvous(op)) return true;
  Buffer& buffer = buffers_[pair(caller.rank, op)];
  if (buffer.has_room(op.bytes, options_.eager_buffer)) {
    buffer.used += op.bytes;
    return true;
  }
  buffer.waiting.push_back({caller.thread, op.bytes});
  return false;
}

template <class Clock>
void Transfers<Clock>::free_buffer(uint32_t i) {
  Message<Clock>& m = messages[i];
  m.held = false;
  if (m.send_over && m.recv_over) messages.free(i);  // which leaves what it says
  Buffer& buffer =
      buffers_[uint64_t{static_cast<uint32_t>(m.envelope.source)} << 32 | m.envelope.target];
  buffer.used -= m.bytes;
  const auto before = static_cast<std::ptrdiff_t>(ready.size());
  std::erase_if(buffer.waiting, [&](const typename Buffer::Waiting& one) {
    if (!buffer.has_room(one.needs, options_.eager_buffer)) return false;
    buffer.used += one.needs;
    buffer.freed = m.recv_end;
    ready.push_back(one.thread);
    return true;
  });
  std::reverse(ready.begin() + before, ready.end());  // the last goes on first
}

}  // namespace ompl::model
