// SPDX-License-Identifier: BSD-3-Clause
// Replays the ranks of one group: each thread goes on until it needs to know when a call ends. Which is all that there
// is of a replay by one thread (replay.cpp).
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "model/replay/actors.hpp"
#include "model/replay/critical_path.hpp"
#include "model/replay/groups.hpp"
#include "model/replay/site_times.hpp"
#include "model/replay/timeline.hpp"
#include "model/replay/transfers_events.hpp"

namespace ompl::model {

template <class Clock>
class Replayer {
 public:
  // `threads`: those of the trace, of which each group touches its own alone.
  Replayer(const Trace& trace, const Parameters& parameters, const Options& options,
           double lookahead_ns, Timeline* timeline, std::span<Thread<Clock>> threads,
           const RankGroup& group, Groups<Clock>& groups, std::atomic<std::size_t>& stretches)
      : trace_(trace),
        stream_(trace.open()),
        options_(options),
        timeline_(timeline),
        threads_(threads),
        group_(group),
        groups_(groups),
        transfers_(parameters, options, trace.ranks(), lookahead_ns, group, groups),
        path_(stretches),
        sites_(trace.sites()) {
    for (uint32_t who = 0; who < threads_.size(); ++who) {
      const uint32_t rank = trace.rank_of(who);
      if (!group_.owns(rank)) continue;
      threads_[who].caller = {rank, who};
      if (who != rank) threads_[who].beside_others = threads_[rank].beside_others = true;
      if constexpr (kTraced) path_.begin(threads_[who].now, rank);
    }
  }

  void begin() {
    for (uint32_t who = 0; who < threads_.size(); ++who) {
      if (!group_.owns(threads_[who].caller.rank)) continue;
      go_on(who);
      wake();
    }
  }

  // Reads its mail, and takes the events up to this window. The window of the next one.
  uint64_t advance(uint64_t window) {
    groups_.each(group_.number, [this](auto& mail) { read(mail); });
    while (transfers_.step(window)) wake();
    return transfers_.earliest();
  }

  // Adds what it knows to what the groups before it knew.
  void add_to(Result& all);
  [[nodiscard]] const SiteTimes& sites() const { return sites_; }
  [[nodiscard]] const CriticalPath& path() const { return path_; }

 private:
  static constexpr bool kTraced = std::is_same_v<Clock, Traced>;

  // Threads have the trace's numbers, branches those behind them.
  [[nodiscard]] bool is_branch(uint32_t who) const { return who >= threads_.size(); }
  Branch<Clock>& branch(uint32_t who) { return *branches_[who - threads_.size()]; }
  Thread<Clock>& actor(uint32_t who) {
    if (is_branch(who)) [[unlikely]]
      return branch(who);
    return threads_[who];
  }

  // Those whom an event, or another thread, lets go on.
  void wake() {
    while (!transfers_.ready.empty()) {
      const uint32_t who = transfers_.ready.back();
      transfers_.ready.pop_back();
      Thread<Clock>& r = actor(who);
      if (r.stall == Stall::room)
        pass_until(who, r.held, transfers_.freed_at(r.caller, r.held), &Breakdown::send_wait,
                   Activity::send_wait);
      if (r.stall == Stall::none) {
        if (--r.pending > 0) continue;
        conclude(who);
      }
      go_on(who);
    }
  }

  // Until it stands still or ends.
  void go_on(uint32_t who) {
    Thread<Clock>& r = actor(who);
    if (const Stall before = std::exchange(r.stall, Stall::none); before != Stall::none) {
      const Op held = r.held;
      if (!execute(who, held, before)) return;
    }
    Op op;
    while (next(who, op))
      if (!execute(who, op)) return;
    r.over = true;
    if (is_branch(who)) end_branch(who);
  }

  bool next(uint32_t who, Op& op) {
    if (!is_branch(who)) [[likely]]
      return stream_->next(who, op);
    Branch<Clock>& b = branch(who);
    if (b.next == b.ops.size()) return false;
    op = b.ops[b.next++];
    return true;
  }

  bool stall(uint32_t who, const Op& op, Stall why) {
    Thread<Clock>& r = actor(who);
    r.stall = why;
    r.held = op;
    return false;
  }

  // `before`: what it stood still for, if this is what it then held.
  bool execute(uint32_t who, const Op& op, Stall before = Stall::none) {
    Thread<Clock>& r = actor(who);
    if (r.beside_others && before == Stall::none && is_message(op)) [[unlikely]] {
      transfers_.wait_turn(r.caller, r.now);
      return stall(who, op, Stall::turn);
    }
    switch (op.kind) {
      case OpKind::compute:
        calculate(who, op);
        return true;
      case OpKind::send:
      case OpKind::isend:
        return send(who, op, before);
      case OpKind::recv:
        return call({transfers_.receive(r.caller, op, r.now), false}, who, op);
      case OpKind::irecv:
        r.requests.push_back({transfers_.receive(r.caller, op, r.now), false});
        pass(who, op, transfers_.costs.post_recv());
        return true;
      case OpKind::wait:
        return wait(who, op);
      case OpKind::mark:
        mark(who, op.bytes > 0);
        return true;
      case OpKind::branch:
        begin_branch(who, op);
        return true;
      case OpKind::hand:
        hand(who, op);
        return true;
    }
    return true;
  }

  // It goes on from now on, and the rank too.
  void begin_branch(uint32_t thread, const Op& op) {
    Thread<Clock>& r = threads_[thread];
    Branch<Clock> b = read_branch(thread, op);
    const uint32_t its = b.caller.rank;
    const bool detached = b.detached;
    uint32_t who = kNone;
    if (group_.owns(its))
      who = adopt(std::move(b));
    else
      transfers_.mail_to(its, r.now).branches.push_back(std::move(b));
    r.requests.push_back({.message = detached ? kNone : who, .is_branch = true});
    if (!op.more) pass(thread, op, transfers_.costs.post_recv());
    if (who != kNone) go_on(who);
  }

  Branch<Clock> read_branch(uint32_t thread, const Op& op) {
    const uint32_t rank = threads_[thread].caller.rank;
    if (op.bytes == 0) refuse("rank {}: the end of a branch that is none", rank);
    if (op.peer < 0 || static_cast<uint32_t>(op.peer) >= trace_.ranks())
      refuse("rank {}: a branch of rank {}, but there are {}", rank, op.peer, trace_.ranks());
    Branch<Clock> b;
    const auto its = static_cast<uint32_t>(op.peer);
    b.caller = {its, its == rank ? thread : its};
    b.now = threads_[thread].now;
    Op inner;
    while (stream_->next(thread, inner) && inner.kind != OpKind::branch) {
      if (!is_message(inner) && (inner.kind != OpKind::wait || inner.handed))
        refuse("rank {}: a branch holds messages and waits alone", rank);
      b.ops.push_back(inner);
    }
    if (inner.kind != OpKind::branch || inner.bytes > 0) refuse("rank {}: a branch does not end", rank);
    b.detached = inner.more;
    if (!b.detached && its != rank)
      refuse("rank {}: a branch of rank {} that is waited for", rank, its);
    return b;
  }

  uint32_t adopt(Branch<Clock> b) {
    if (free_branches_.empty()) {
      branches_.push_back(std::make_unique<Branch<Clock>>(std::move(b)));
      return static_cast<uint32_t>(threads_.size() + branches_.size() - 1);
    }
    const uint32_t who = free_branches_.back();
    free_branches_.pop_back();
    branch(who) = std::move(b);
    return who;
  }

  // What other groups wrote.
  void read(typename Groups<Clock>::Mail& mail) {
    for (const SendEnd<Clock>& end : mail.ends) transfers_.take_in(end);
    for (const Sent<Clock>& sent : mail.sent) transfers_.take_in(sent);
    wake();
    for (Branch<Clock>& b : mail.branches) {
      go_on(adopt(std::move(b)));
      wake();
    }
  }

  void end_branch(uint32_t who) {
    const Branch<Clock>& b = branch(who);
    if (b.waiter != kNone) transfers_.ready.push_back(b.waiter);
    if (b.detached) free_branches_.push_back(who);
  }

  void calculate(uint32_t who, const Op& op) {
    Thread<Clock>& r = threads_[who];
    if (!std::isfinite(op.ns) || op.ns < 0)
      refuse("rank {}: a computation of {} ns", r.caller.rank, op.ns);
    double time = op.ns;
    if (options_.noise > 0) time *= 1 + options_.noise * exponential(options_.seed, who, r.computed++);
    const Clock passes = transfers_.costs.of(compute, time);
    r.now += passes;
    account(who, op.site, &Breakdown::compute, ns(passes));
    draw(who, Activity::compute, op);
  }

  // The begin or the end of what is asked for.
  void mark(uint32_t who, bool begins) {
    Thread<Clock>& r = threads_[who];
    if (r.marked_at >= 0) r.marked += ns(r.now) - r.marked_at;
    r.marked_at = begins ? ns(r.now) : -1;
    result_.region_ns = std::max(result_.region_ns, r.marked);
  }

  bool send(uint32_t who, const Op& op, Stall before) {
    Thread<Clock>& r = actor(who);
    const auto& costs = transfers_.costs;
    if (!is_branch(who) && before != Stall::room && !transfers_.admit(r.caller, op))
      return stall(who, op, Stall::room);
    if (costs.is_loggops() && options_.sharing) {
      Thread<Clock>& owner = is_branch(who) ? r : threads_[r.caller.rank];
      pass_until(who, op, owner.network_free, &Breakdown::overhead, Activity::overhead);
      owner.network_free = r.now + costs.message_gap_time() + costs.parts(op.bytes, false).gap;
    }
    ++result_.messages;
    if (transfers_.is_rendezvous(op)) count_rendezvous(op);
    const Side side{transfers_.send(r.caller, op, r.now, is_branch(who)), true};
    if (op.kind == OpKind::send) return call(side, who, op);
    r.requests.push_back(side);
    pass(who, op, costs.parts(op.bytes, false).post_send);
    return true;
  }

  void count_rendezvous(const Op& op) {
    ++result_.rendezvous;
    if (op.synchronous) return;
    if (result_.shortest_rendezvous == 0 || op.bytes < result_.shortest_rendezvous)
      result_.shortest_rendezvous = op.bytes;
  }

  // It stands still until then, if that is later.
  void pass_until(uint32_t who, const Op& op, const Clock& then, double Breakdown::*part,
                  Activity activity) {
    Thread<Clock>& r = actor(who);
    const Clock before = r.now;
    r.now = later(r.now, then);
    account(who, op.site, part, ns(r.now) - ns(before));
    draw(who, activity, op);
  }

  // A nonblocking operation, equations (6) and (10).
  void pass(uint32_t who, const Op& op, const Clock& time) {
    actor(who).now += time;
    account(who, op.site, &Breakdown::overhead, ns(time));
    draw(who, Activity::overhead, op);
  }

  bool call(Side side, uint32_t who, const Op& op) {
    Thread<Clock>& r = actor(who);
    r.waiting.push_back(side);
    r.site = op.site;
    r.waits = false;
    return stand(who);
  }

  bool wait(uint32_t who, const Op& op) {
    Thread<Clock>& r = actor(who);
    if (!op.handed) {
      r.waiting.push_back(take_request(r, op.request));
    } else {
      Handed<Clock>& handed = handed_[r.caller.numbered(op.number)];
      if (!handed.there) {
        handed.waiter = who;
        return stall(who, op, Stall::handed);
      }
      // Outside of calls: nothing is waited for there that does not exist yet.
      pass_until(who, op, handed.when, &Breakdown::compute, Activity::compute);
      const Side side = handed.side;
      handed_.erase(r.caller.numbered(op.number));
      if (side.message != kNone)
        r.waiting.push_back(side);
      else if (r.waiting.empty() && !op.more)
        return true;  // no call, only a moment
    }
    r.site = op.site;
    r.waits = true;
    return op.more || stand(who);
  }

  Side take_request(Thread<Clock>& r, uint64_t request) {
    const Side out = r.take(request);
    if (out.message == kNone)
      refuse("{} waits for request {}, which is not open", trace_.thread_name(r.caller.thread),
             request);
    return out;
  }

  void hand(uint32_t who, const Op& op) {
    Thread<Clock>& r = threads_[who];
    Handed<Clock>& handed = handed_[r.caller.numbered(op.number)];
    if (handed.there) refuse("{} hands over {} twice", trace_.thread_name(r.caller.thread), op.number);
    handed.there = true;
    handed.when = r.now;
    if (op.request != Op::kNoRequest) handed.side = take_request(r, op.request);
    if (handed.waiter != kNone) transfers_.ready.push_back(handed.waiter);
  }

  // Whether the present call ends at once; else the rank is woken when all its ends are known.
  bool stand(uint32_t who) {
    Thread<Clock>& r = actor(who);
    for (Side& side : r.waiting) {
      if (is_known(side)) continue;
      if (side.is_branch)
        branch(side.message).waiter = who;
      else
        transfers_.await(side.message, side.is_send, who);
      ++r.pending;
    }
    if (r.pending > 0) return false;
    conclude(who);
    return true;
  }

  // Whether the end of what is waited for is known.
  bool is_known(Side& side) {
    if (side.is_branch) return branch(side.message).over;
    side.message = transfers_.follow(side.message);
    const Message<Clock>& m = transfers_.messages[side.message];
    return side.is_send ? m.send_known : m.recv_known;
  }

  const Clock& end_of(Side& side) {
    if (side.is_branch) return branch(side.message).now;
    side.message = transfers_.follow(side.message);
    const Message<Clock>& m = transfers_.messages[side.message];
    return side.is_send ? m.send_end : m.recv_end;
  }

  // The present call ends: equations (4), (5), (7) to (9), and (11) for a wait.
  void conclude(uint32_t who);
  // What of it is waiting behind `called`, in the order of time.
  template <class Function>
  void each_wait(const Side& side, double called, Function function) {
    const auto part = [&](double begin, double end, bool is_send) {
      begin = std::max(begin, called);
      if (begin < end) function(Wait{begin, end, is_send});
    };
    if (side.is_branch) {
      for (const Wait& wait : branch(side.message).waits) part(wait.begin, wait.end, wait.is_send);
      return;
    }
    const Message<Clock>& m = transfers_.messages[side.message];
    if (side.is_send) {
      if (m.rendezvous) part(ns(transfers_.request_arrival(m)), ns(m.posted), true);
      return;
    }
    double begin = ns(m.posted);
    if (m.rendezvous) {
      part(begin, ns(transfers_.request_arrival(m)), false);
      begin = ns(transfers_.handshake_end(m));
    }
    part(begin, ns(m.arrival), false);
  }

  void account(uint32_t who, uint32_t site, double Breakdown::*part, double time) {
    if (kTraced || is_branch(who)) return;
    threads_[who].times.*part += time;
    sites_.add(site, part, time);
  }

  // For the timeline: what a rank did until now.
  void draw(uint32_t who, Activity activity, const Op& op) {
    if (timeline_ == nullptr || is_branch(who)) [[likely]]
      return;
    const int32_t peer = is_message(op) ? op.peer : Op::kAny;
    timeline_->until({0, ns(threads_[who].now), op.bytes, who, peer, op.site, activity, op.kind});
  }

  // The same of a call that ends, with the messages that it received.
  void draw_call(uint32_t who, const Side& decisive, double called);
  void name_blocked(const Thread<Clock>& r, Result& all);
  void name_unmatched(const Message<Clock>& m, Result& all);

  const Trace& trace_;
  std::unique_ptr<Stream> stream_;
  Options options_;
  Timeline* timeline_;
  std::span<Thread<Clock>> threads_;  // of all groups
  RankGroup group_;
  Groups<Clock>& groups_;
  std::unordered_map<uint64_t, Handed<Clock>> handed_;  // by rank and number
  std::vector<std::unique_ptr<Branch<Clock>>> branches_;
  std::vector<uint32_t> free_branches_;  // numbers of those that are over
  Transfers<Clock> transfers_;
  CriticalPath path_;
  SiteTimes sites_;
  Result result_;  // of its times those of marks
};

}  // namespace ompl::model
