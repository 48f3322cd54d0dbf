// SPDX-License-Identifier: BSD-3-Clause
// How calls end in a replay, and what is told of it behind its end: the part of Replayer that accounts.
#pragma once

#include "model/replay/replayer.hpp"

namespace ompl::model {

template <class Clock>
void Replayer<Clock>::conclude(uint32_t who) {
  Thread<Clock>& r = actor(who);
  const Clock* end = nullptr;
  Side decisive;
  for (Side& side : r.waiting) {
    const Clock& its = end_of(side);
    if (end != nullptr && ns(its) <= ns(*end)) continue;
    end = &its;
    decisive = side;
  }
  const Clock called = r.now;
  r.now = r.waits ? later(*end, called + transfers_.costs.least_wait()) : *end;
  if constexpr (kTraced) path_.step(r.now, r.caller.rank, r.site);
  double waited = 0;
  each_wait(decisive, ns(called), [&](const Wait& wait) {
    const double time = wait.end - wait.begin;
    account(who, r.site, wait.is_send ? &Breakdown::send_wait : &Breakdown::recv_wait, time);
    if (!kTraced && is_branch(who)) branch(who).waits.push_back(wait);
    waited += time;
  });
  account(who, r.site, &Breakdown::overhead, ns(r.now) - ns(called) - waited);
  if (timeline_ != nullptr) [[unlikely]]
    draw_call(who, decisive, ns(called));
  for (const Side side : r.waiting) {
    if (side.is_branch)
      free_branches_.push_back(side.message);
    else
      transfers_.leave(side.message, side.is_send);
  }
  r.waiting.clear();
}

template <class Clock>
void Replayer<Clock>::draw_call(uint32_t who, const Side& decisive, double called) {
  const Thread<Clock>& r = actor(who);
  if (!is_branch(who)) {
    TimelineRecord record{0, 0, 0, who, Op::kAny, r.site, Activity::overhead, OpKind::wait};
    if (!decisive.is_branch) {
      const Message<Clock>& m = transfers_.messages[decisive.message];
      record.bytes = m.bytes;
      record.peer = decisive.is_send ? static_cast<int32_t>(m.envelope.target) : m.envelope.source;
      if (!r.waits) record.call = decisive.is_send ? OpKind::send : OpKind::recv;
    }
    const auto until = [&](double end_ns, Activity activity) {
      record.end_ns = end_ns;
      record.activity = activity;
      timeline_->until(record);
    };
    each_wait(decisive, called, [&](const Wait& wait) {
      until(wait.begin, Activity::overhead);
      until(wait.end, wait.is_send ? Activity::send_wait : Activity::recv_wait);
    });
    until(ns(r.now), Activity::overhead);
  }
  for (const Side& side : r.waiting) {
    if (side.is_send || side.is_branch) continue;
    const Message<Clock>& received = transfers_.messages[side.message];
    timeline_->message({ns(received.sent), ns(received.recv_end), received.bytes, r.caller.thread,
                        static_cast<int32_t>(received.thread), received.recv_site, Activity::message,
                        OpKind::recv});
  }
}

template <class Clock>
void Replayer<Clock>::add_to(Result& all) {
  for (uint32_t who = 0; who < threads_.size(); ++who) {
    const Thread<Clock>& thread = threads_[who];
    if (!thread.over && group_.owns(thread.caller.rank) && ++all.blocked_count <= Result::kMostNamed)
      name_blocked(thread, all);
  }
  transfers_.messages.each_unmatched([&](const Message<Clock>& m) { name_unmatched(m, all); });
  all.region_ns = std::max(all.region_ns, result_.region_ns);
  all.messages += result_.messages;
  all.rendezvous += result_.rendezvous;
  if (all.shortest_rendezvous == 0)
    all.shortest_rendezvous = result_.shortest_rendezvous;
  else if (result_.shortest_rendezvous > 0)
    all.shortest_rendezvous = std::min(all.shortest_rendezvous, result_.shortest_rendezvous);
  for (const auto& [name, count] : stream_->not_modelled()) all.not_modelled[name] += count;
}

template <class Clock>
void Replayer<Clock>::name_blocked(const Thread<Clock>& r, Result& all) {
  const auto say = [&](uint32_t site, const std::string& what) {
    all.blocked.push_back(fmt::format("{}, {}: {}", trace_.thread_name(r.caller.thread),
                                      trace_.where(r.caller.rank, site), what));
  };
  if (r.stall == Stall::room)
    return say(r.held.site, fmt::format("the eager buffer of rank {} stays full", r.held.peer));
  if (r.stall == Stall::handed)
    return say(r.held.site, "waits for what another thread of its rank does not do");
  for (Side side : r.waiting) {
    if (is_known(side)) continue;
    if (side.is_branch) return name_blocked(branch(side.message), all);
    return say(r.site, open_side(transfers_.messages[side.message], side.is_send));
  }
}

template <class Clock>
void Replayer<Clock>::name_unmatched(const Message<Clock>& m, Result& all) {
  const auto [target, source, tag, communicator] = m.envelope;
  all.unmatched.push_back(
      m.has_send ? Unmatched{true, m.thread, static_cast<int32_t>(target), tag, m.bytes, m.send_site}
                 : Unmatched{false, m.thread, source, tag, 0, m.recv_site});
}

}  // namespace ompl::model
