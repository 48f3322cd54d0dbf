// SPDX-License-Identifier: BSD-3-Clause
// The messages of a replay: matching, the handshake, the sharing of bandwidth. It knows the times of calls and tells
// when calls end; what ranks do with that is the replayer's (replayer.hpp).
//
// Events are taken in the order of time. A rank runs as far ahead as its calls' ends are known, and what it sends
// then lies in the future of all events taken, so the order holds. With several threads each has one of these, for its
// group of ranks (groups.hpp).
#pragma once

#include <memory>
#include <vector>

#include "common/input_error.hpp"
#include "model/replay/agenda.hpp"
#include "model/replay/costs.hpp"
#include "model/replay/eager_buffers.hpp"
#include "model/replay/groups.hpp"
#include "model/replay/matching.hpp"
#include "model/replay/message.hpp"
#include "model/replay/port.hpp"
#include "model/replay/replay.hpp"

namespace ompl::model {

template <class Clock>
class Transfers {
 public:
  // Of the ranks of `group`. `lookahead_ns` 0: in the order of time; threads beside each other call wait_turn().
  Transfers(const Parameters& parameters, const Options& options, uint32_t ranks, double lookahead_ns,
            const RankGroup& group, Groups<Clock>& groups)
      : costs(parameters),
        options_(options),
        ranks_(ranks),
        group_(group),
        groups_(groups),
        agenda_(group.size, lookahead_ns),
        buffers_(options.eager_buffer),
        exact_(messages),
        any_(group.size),
        ports_(group.size),
        calls_(group.size) {}

  // Whether a send takes the handshake.
  [[nodiscard]] bool is_rendezvous(const Op& op) const {
    return op.synchronous || (!op.buffered && costs.is_rendezvous(op.bytes));
  }

  // A send or receive is called; the number of its message, or of the receive until a message is found.
  // `unlimited`: by no eager buffer.
  uint32_t send(const Caller& caller, const Op& op, const Clock& now, bool unlimited) {
    check(caller.rank, op);
    const bool rendezvous = is_rendezvous(op);
    Sent<Clock> sent{.envelope = {static_cast<uint32_t>(op.peer), static_cast<int32_t>(caller.rank),
                                  op.tag, op.communicator},
                     .thread = caller.thread,
                     .site = op.site,
                     .rendezvous = rendezvous,
                     .unlimited = unlimited || !buffers_.limited() || rendezvous,
                     .when = now,
                     .bytes = op.bytes,
                     .order = calls_[place(caller.rank)].sends++};
    return group_.owns(sent.envelope.target) ? take_in(sent) : send_away(sent);
  }

  uint32_t receive(const Caller& caller, const Op& op, const Clock& now) {
    const uint32_t rank = caller.rank;
    check(rank, op);
    const Envelope envelope{rank, op.peer, op.tag, op.communicator};
    std::unique_ptr<AnyMatches>& any = any_[place(rank)];
    if (envelope.any() && any == nullptr) make_any(rank);
    uint32_t i = kNone;
    uint32_t own = kNone;
    if (any != nullptr) {
      own = messages.make();
      i = any->post(envelope, own);
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
    m.order = calls_[place(rank)].receives++;
    if (own == kNone) exact_.add(i);
    return i;
  }

  // `who` stands still until this end is known; it will be among `ready` then, once for each.
  void await(uint32_t message, bool is_send, uint32_t who) {
    Message<Clock>& m = messages[message];
    (is_send ? m.send_waiter : m.recv_waiter) = who;
  }
  // The rank has no more to do with it.
  void leave(uint32_t message, bool is_send) {
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
  // The message of a receive that was posted before its message was found.
  uint32_t follow(uint32_t message) {
    while (messages[message].moved) message = messages[message].next;
    return message;
  }

  // Of the eager buffer: whether a message may leave now. If not, the thread will be among `ready` when it may, and
  // freed_at() tells since when.
  bool admit(const Caller& caller, const Op& op) {
    return !buffers_.limited() || is_rendezvous(op) ||
           buffers_.admit(caller, static_cast<uint32_t>(op.peer), op.bytes);
  }
  const Clock& freed_at(const Caller& caller, const Op& op) {
    return buffers_.freed_at(caller.rank, static_cast<uint32_t>(op.peer));
  }

  // A thread of a rank of several wants to send or receive: it will be among `ready` when nothing earlier will happen any more.
  void wait_turn(const Caller& caller, const Clock& now) {
    ports_[place(caller.rank)].push({ns(now), EventKind::call, caller.thread});
    agenda_.at(place(caller.rank), ns(now));
  }

  // Takes the next events at one receiver in a window up to `last`; false if there are none.
  bool step(uint64_t last);
  // The first window in which something may happen.
  [[nodiscard]] uint64_t earliest() const { return agenda_.earliest(); }

  // Of other groups: a send to a rank of this one, and the end of a send by one.
  uint32_t take_in(const Sent<Clock>& sent) {
    const bool any = any_[place(sent.envelope.target)] != nullptr;
    uint32_t i = any ? kNone : exact_.take(sent.envelope, false);
    const bool found = i != kNone;
    if (!found) i = messages.make();
    Message<Clock>& m = messages[i];
    m.envelope = sent.envelope;
    m.has_send = true;
    m.thread = sent.thread;
    m.sent = sent.when;
    m.bytes = sent.bytes;
    m.send_site = sent.site;
    m.rendezvous = sent.rendezvous;
    m.unlimited = sent.unlimited;
    m.order = sent.order;
    if (sent.number != kNone) {
      m.from_afar = m.send_over = true;
      m.send_waiter = sent.number;
      m.send_known = sent.end_known;
    }
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

  void take_in(const SendEnd<Clock>& end) {
    messages[end.number].posted = end.posted;
    end_send(end.number, end.when);
  }
  // To the group of a rank, of what happens at this time and matters to that rank at once.
  typename Groups<Clock>::Mail& mail_to(uint32_t rank, const Clock& when) {
    return groups_.post(group_.number, rank, agenda_.window_of(ns(when)) + 1);
  }

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
  struct Calls {
    uint64_t sends = 0, receives = 0;
  };

  // In what there is for each rank of the group.
  [[nodiscard]] uint32_t place(uint32_t rank) const { return rank - group_.first; }
  void check(uint32_t rank, const Op& op) const {
    const bool receives = op.kind == OpKind::recv || op.kind == OpKind::irecv;
    const int32_t least = receives ? Op::kAny : 0;
    if (op.peer < least || (op.peer >= 0 && static_cast<uint32_t>(op.peer) >= ranks_))
      refuse("rank {}: an operation names rank {}, but there are {}", rank, op.peer, ranks_);
    if (op.tag < least) refuse("rank {}: an operation has the tag {}", rank, op.tag);
  }
  // The first receive from any of this rank: from now on arrivals are taken in the order of time.
  void make_any(uint32_t rank) {
    std::unique_ptr<AnyMatches>& any = any_[place(rank)];
    any = std::make_unique<AnyMatches>();
    std::vector<uint32_t> waiting = exact_.take_all(rank);
    std::ranges::sort(waiting, {}, [this](uint32_t i) { return messages[i].order; });
    for (const uint32_t i : waiting) {
      Message<Clock>& m = messages[i];
      m.next = kNone;
      if (m.has_send)
        push(request_arrival(m), EventKind::envelope, i);
      else
        any->post(m.envelope, i);
    }
  }

  // An event at the message's receiver.
  void push(const Clock& when, EventKind kind, uint32_t i) {
    const uint32_t receiver = place(messages[i].envelope.target);
    ports_[receiver].push({ns(when), kind, i});
    agenda_.at(receiver, ns(when));
  }

  // What of a message is the sender's.
  uint32_t send_away(Sent<Clock>& sent) {
    const uint32_t i = messages.make();
    Message<Clock>& m = messages[i];
    m.envelope = sent.envelope;
    m.away = m.has_send = m.recv_over = true;
    m.sent = sent.when;
    m.bytes = sent.bytes;
    m.rendezvous = sent.rendezvous;
    const Parts<Clock>& parts = parts_of(m);
    m.send_known = !m.rendezvous && !shares(parts, Carrier::send, parts.send_slope);
    if (m.send_known) m.send_end = m.sent + parts.send_fixed + parts.send_slope;
    sent.number = i;
    sent.end_known = m.send_known;
    // The receiver notices an overhead later, which is two windows.
    groups_.post(group_.number, m.envelope.target, agenda_.window_of(ns(m.sent)) + 2)
        .sent.push_back(sent);
    return i;
  }

  // The life of a message, in this order.
  void matched(uint32_t i) {
    const Message<Clock>& m = messages[i];
    if (m.rendezvous)
      begin(i, handshake_end(m));
    else if (m.arrived)
      deliver(i);
  }
  // T1 and T2, from the call of the send or the end of the handshake.
  void begin(uint32_t i, const Clock& from) {
    const Message<Clock>& m = messages[i];
    if (costs.is_loggops()) return begin_loggops(i, from);
    const Parts<Clock>& parts = parts_of(m);
    const Clock start = from + parts.send_fixed;
    if (!share(i, Carrier::send, start, parts.send_slope)) left_sender(i, start + parts.send_slope);
  }
  // The sender's overhead comes before the handshake, and the handshake costs nothing.
  void begin_loggops(uint32_t i, const Clock& from) {
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
  void left_sender(uint32_t i, const Clock& when) {
    end_send(i, when);
    const Clock& gap = parts_of(messages[i]).gap;
    if (!share(i, Carrier::gap, when, gap)) arrive(i, when + gap + costs.wire());
  }
  void arrive(uint32_t i, const Clock& when) {
    Message<Clock>& m = messages[i];
    m.arrival = when;
    m.arrived = true;
    if (m.has_recv) deliver(i);
  }
  // T3.
  void deliver(uint32_t i) {
    const Message<Clock>& m = messages[i];
    const Parts<Clock>& parts = parts_of(m);
    const Clock start = later(m.arrival, m.posted) + parts.recv_fixed;
    if (!share(i, Carrier::recv, start, parts.recv_slope)) end_receive(i, start + parts.recv_slope);
  }

  void end_send(uint32_t i, const Clock& when) {
    Message<Clock>& m = messages[i];
    if (m.from_afar) [[unlikely]] {
      if (m.send_known) return;
      const auto sender = static_cast<uint32_t>(m.envelope.source);
      return mail_to(sender, when).ends.push_back({m.send_waiter, when, m.posted});
    }
    m.send_end = when;
    m.send_known = true;
    if (m.send_waiter != kNone) ready.push_back(m.send_waiter);
  }
  void end_receive(uint32_t i, const Clock& when) {
    Message<Clock>& m = messages[i];
    m.recv_end = when;
    m.recv_known = true;
    if (m.recv_waiter != kNone) ready.push_back(m.recv_waiter);
    if (m.unlimited) return;
    m.held = true;
    push(when, EventKind::freed, i);
  }

  // Whether messages of this model and length use the receiver's bandwidth in that part; it begins to if they do.
  [[nodiscard]] bool shares(const Parts<Clock>& parts, Carrier part, const Clock& work) const {
    return options_.sharing && !costs.is_loggops() && ns(work) > 0 && parts.carrier == part;
  }
  bool share(uint32_t i, Carrier part, const Clock& from, const Clock& work) {
    Message<Clock>& m = messages[i];
    if (!shares(parts_of(m), part, work)) return false;
    m.began = from;
    push(from, EventKind::begin, i);
    return true;
  }
  [[nodiscard]] const Clock& work(const Message<Clock>& m) const {
    const Parts<Clock>& parts = parts_of(m);
    if (parts.carrier == Carrier::send) return parts.send_slope;
    return parts.carrier == Carrier::recv ? parts.recv_slope : parts.gap;
  }
  [[nodiscard]] const Parts<Clock>& parts_of(const Message<Clock>& m) const {
    return costs.parts(m.bytes, m.rendezvous);
  }
  bool take(Port<Clock>& port);
  void end_use(Port<Clock>& port);
  void take_simultaneous(Port<Clock>& port, const Event& event);
  void take_one(Port<Clock>& port, EventKind kind, uint32_t i);
  void take_call(Port<Clock>& port, Event event);
  void take_envelope(uint32_t i);
  void queue_at_receiver(uint32_t i);
  void free_buffer(uint32_t i);

  Options options_;
  uint32_t ranks_;  // of all groups
  RankGroup group_;
  Groups<Clock>& groups_;
  Agenda agenda_;
  EagerBuffers<Clock> buffers_;
  ExactMatches<Clock> exact_;
  std::vector<std::unique_ptr<AnyMatches>> any_;  // of the ranks that receive from any
  std::vector<Port<Clock>> ports_;
  std::vector<Clock> queue_free_;  // LogGOPS: when a receiver's network can take the next message
  std::vector<Calls> calls_;
};

}  // namespace ompl::model
