// SPDX-License-Identifier: BSD-3-Clause
#include "model/replay.hpp"

#include <cmath>
#include <type_traits>

#include "model/timeline.hpp"
#include "model/transfers.hpp"

namespace ompl::model {

namespace {

// One side of a message: what a request or a blocking call stands for.
struct Side {
  uint32_t message = kNone;
  bool is_send = false;
};

template <class Clock>
struct Rank {
  Clock now{};
  Clock network_free{};  // LogGOPS: when the network can take its next message
  std::vector<Side> requests;
  std::size_t first_open = 0;  // of requests
  uint64_t forgotten = 0;      // requests before the first of the vector
  std::vector<Side> waiting;   // the sides that its present call is for
  uint32_t pending = 0;        // of them: those whose end is not known
  uint32_t site = 0;           // of that call
  bool waits = false;          // that call is a wait
  bool stalled = false, over = false;
  double marked = 0;      // time between marks
  double marked_at = -1;  // the mark that began it; less: none
  Op held;                // the send that does not fit into the eager buffer, if stalled
};

// The critical path is a chain of such, from the end to the start.
struct PathNode {
  uint32_t before;
  uint32_t rank;
  double ns;      // when it came to this rank
  uint32_t site;  // by which call
};

// From 0 on, on average 1, the same for the same arguments.
double exponential(uint64_t seed, uint64_t rank, uint64_t count) {
  uint64_t x = seed + 0x9e3779b97f4a7c15 * (count + 1) + 0xd1342543de82ef95 * (rank + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  x ^= x >> 31;
  return -std::log((static_cast<double>(x >> 11) + 1) * 0x1p-53);
}

template <class Clock>
class Replayer {
 public:
  Replayer(const Trace& trace, const Parameters& parameters, const Options& options,
           Timeline* timeline = nullptr)
      : trace_(trace),
        stream_(trace.open()),
        options_(options),
        timeline_(timeline),
        ranks_(trace.ranks()),
        computed_(trace.ranks()),
        transfers_(parameters, options, trace.ranks()) {
    if (trace.ranks() == 0) refuse("the trace has no ranks");
    result_.per_rank.resize(ranks_.size());
    result_.per_site.resize(trace.sites());
    if constexpr (kTraced) {
      for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        nodes_.push_back({kNone, rank, 0, 0});
        ranks_[rank].now.path = rank;
      }
    }
  }

  void run() {
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      go_on(rank);
      wake();
    }
    while (transfers_.step()) wake();
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank)
      if (!ranks_[rank].over) name_blocked(rank);
    transfers_.messages.each_unmatched([this](const Message<Clock>& m) { name_unmatched(m); });
    result_.predicted_ns = ns(last().now);
    result_.not_modelled = stream_->not_modelled();
  }

  Result result() { return std::move(result_); }
  Sensitivity sensitivity() const;

 private:
  static constexpr bool kTraced = std::is_same_v<Clock, Traced>;
  static constexpr std::size_t kManyClosed =
      1024;  // requests, before the memory of the first is used again
  static constexpr std::size_t kMostNodes = std::size_t{1} << 24;

  [[nodiscard]] const Rank<Clock>& last() const {
    return *std::ranges::max_element(ranks_, {}, [](const Rank<Clock>& rank) { return ns(rank.now); });
  }

  // The ranks that an event, or another rank, lets go on.
  void wake() {
    while (!transfers_.ready.empty()) {
      const uint32_t rank = transfers_.ready.back();
      transfers_.ready.pop_back();
      Rank<Clock>& r = ranks_[rank];
      if (r.stalled) {
        const Clock before = r.now;
        r.now = later(r.now, transfers_.freed_at(rank, r.held));
        account(rank, r.held.site, &Breakdown::send_wait, ns(r.now) - ns(before));
        draw(rank, Activity::send_wait, r.held);
      } else {
        if (--r.pending > 0) continue;
        conclude(rank);
      }
      go_on(rank);
    }
  }

  // Until it stands still or ends.
  void go_on(uint32_t rank) {
    Rank<Clock>& r = ranks_[rank];
    Op op;
    if (r.stalled) {
      r.stalled = false;
      op = r.held;
      if (!execute(rank, op)) return;
    }
    while (stream_->next(rank, op))
      if (!execute(rank, op)) return;
    r.over = true;
  }

  bool execute(uint32_t rank, const Op& op) {
    switch (op.kind) {
      case OpKind::compute:
        calculate(rank, op);
        return true;
      case OpKind::send:
      case OpKind::isend:
        return send(rank, op);
      case OpKind::recv:
        return call({transfers_.receive(rank, op, ranks_[rank].now), false}, rank, op);
      case OpKind::irecv:
        ranks_[rank].requests.push_back({transfers_.receive(rank, op, ranks_[rank].now), false});
        pass(rank, op, transfers_.costs.post_recv());
        return true;
      case OpKind::wait:
        return wait(rank, op);
      case OpKind::mark:
        mark(rank, op.bytes > 0);
        return true;
    }
    return true;
  }

  void calculate(uint32_t rank, const Op& op) {
    if (!std::isfinite(op.ns) || op.ns < 0) refuse("rank {}: a computation of {} ns", rank, op.ns);
    double time = op.ns;
    if (options_.noise > 0)
      time *= 1 + options_.noise * exponential(options_.seed, rank, computed_[rank]++);
    const Clock passes = transfers_.costs.of(compute, time);
    ranks_[rank].now += passes;
    account(rank, op.site, &Breakdown::compute, ns(passes));
    draw(rank, Activity::compute, op);
  }

  // The begin or the end of what is asked for.
  void mark(uint32_t rank, bool begins) {
    Rank<Clock>& r = ranks_[rank];
    if (r.marked_at >= 0) r.marked += ns(r.now) - r.marked_at;
    r.marked_at = begins ? ns(r.now) : -1;
    result_.region_ns = std::max(result_.region_ns, r.marked);
  }

  bool send(uint32_t rank, const Op& op) {
    Rank<Clock>& r = ranks_[rank];
    const auto& costs = transfers_.costs;
    if (!transfers_.admit(rank, op)) {
      r.stalled = true;
      r.held = op;
      return false;
    }
    if (costs.is_loggops() && options_.sharing) {
      const Clock before = r.now;
      r.now = later(r.now, r.network_free);
      account(rank, op.site, &Breakdown::overhead, ns(r.now) - ns(before));
      draw(rank, Activity::overhead, op);
      r.network_free = r.now + costs.message_gap_time() + costs.parts(op.bytes, false).gap;
    }
    ++result_.messages;
    if (transfers_.is_rendezvous(op)) count_rendezvous(op);
    const Side side{transfers_.send(rank, op, r.now), true};
    if (op.kind == OpKind::send) return call(side, rank, op);
    r.requests.push_back(side);
    pass(rank, op, costs.parts(op.bytes, false).post_send);
    return true;
  }

  void count_rendezvous(const Op& op) {
    ++result_.rendezvous;
    if (op.synchronous) return;
    if (result_.shortest_rendezvous == 0 || op.bytes < result_.shortest_rendezvous)
      result_.shortest_rendezvous = op.bytes;
  }

  // A nonblocking operation, equations (6) and (10).
  void pass(uint32_t rank, const Op& op, const Clock& time) {
    ranks_[rank].now += time;
    account(rank, op.site, &Breakdown::overhead, ns(time));
    draw(rank, Activity::overhead, op);
  }

  bool call(Side side, uint32_t rank, const Op& op) {
    Rank<Clock>& r = ranks_[rank];
    r.waiting.push_back(side);
    r.site = op.site;
    r.waits = false;
    return stand(rank);
  }

  bool wait(uint32_t rank, const Op& op) {
    Rank<Clock>& r = ranks_[rank];
    const uint64_t at = op.request - r.forgotten;
    if (op.request < r.forgotten || at >= r.requests.size() || r.requests[at].message == kNone)
      refuse("rank {} waits for request {}, which is not open", rank, op.request);
    r.waiting.push_back(r.requests[at]);
    r.requests[at].message = kNone;
    while (r.first_open < r.requests.size() && r.requests[r.first_open].message == kNone)
      ++r.first_open;
    if (r.first_open == r.requests.size() || r.first_open == kManyClosed) {
      r.requests.erase(r.requests.begin(),
                       r.requests.begin() + static_cast<std::ptrdiff_t>(r.first_open));
      r.forgotten += r.first_open;
      r.first_open = 0;
    }
    r.site = op.site;
    r.waits = true;
    return op.more || stand(rank);
  }

  // Whether the present call ends at once; else the rank is woken when all its ends are known.
  bool stand(uint32_t rank) {
    Rank<Clock>& r = ranks_[rank];
    for (Side& side : r.waiting) {
      side.message = transfers_.follow(side.message);
      const Message<Clock>& m = transfers_.messages[side.message];
      if (side.is_send ? m.send_known : m.recv_known) continue;
      transfers_.await(side.message, side.is_send);
      ++r.pending;
    }
    if (r.pending > 0) return false;
    conclude(rank);
    return true;
  }

  // The present call ends: equations (4), (5), (7) to (9), and (11) for a wait.
  void conclude(uint32_t rank) {
    Rank<Clock>& r = ranks_[rank];
    const Clock* end = nullptr;
    Side decisive;
    for (Side& side : r.waiting) {
      side.message = transfers_.follow(side.message);
      const Message<Clock>& m = transfers_.messages[side.message];
      const Clock& its = side.is_send ? m.send_end : m.recv_end;
      if (end != nullptr && ns(its) <= ns(*end)) continue;
      end = &its;
      decisive = side;
    }
    const Clock called = r.now;
    r.now = r.waits ? later(*end, called + transfers_.costs.least_wait()) : *end;
    if constexpr (kTraced) step_path(rank);
    const Message<Clock>& m = transfers_.messages[decisive.message];
    const double waited = decisive.is_send ? send_waited(m, ns(called)) : recv_waited(m, ns(called));
    account(rank, r.site, &Breakdown::overhead, ns(r.now) - ns(called) - waited);
    if (waited > 0)
      account(rank, r.site, decisive.is_send ? &Breakdown::send_wait : &Breakdown::recv_wait, waited);
    if (timeline_ != nullptr) [[unlikely]]
      draw_call(rank, decisive);
    for (const Side side : r.waiting) transfers_.leave(side.message, side.is_send);
    r.waiting.clear();
  }

  // How much of [begin, end) lies in a call that began at `called`.
  static double part(double begin, double end, double called) {
    return std::max(0.0, end - std::max(begin, called));
  }
  double send_waited(const Message<Clock>& m, double called) const {
    return m.rendezvous ? part(ns(transfers_.request_arrival(m)), ns(m.posted), called) : 0;
  }
  double recv_waited(const Message<Clock>& m, double called) const {
    if (!m.rendezvous) return part(ns(m.posted), ns(m.arrival), called);
    return part(ns(m.posted), ns(transfers_.request_arrival(m)), called) +
           part(ns(transfers_.handshake_end(m)), ns(m.arrival), called);
  }

  void account(uint32_t rank, uint32_t site, double Breakdown::*part, double time) {
    if constexpr (kTraced) return;
    result_.per_rank[rank].*part += time;
    if (site < result_.per_site.size()) result_.per_site[site].*part += time;
  }

  // For the timeline: what a rank did until now.
  void draw(uint32_t rank, Activity activity, const Op& op) {
    if (timeline_ == nullptr) [[likely]]
      return;
    const int32_t peer = op.kind == OpKind::compute ? Op::kAny : op.peer;
    timeline_->until({0, ns(ranks_[rank].now), op.bytes, rank, peer, op.site, activity, op.kind});
  }

  // The same of a call that ends, with the messages that it received.
  void draw_call(uint32_t rank, Side decisive) {
    const Rank<Clock>& r = ranks_[rank];
    const Message<Clock>& m = transfers_.messages[decisive.message];
    const auto source = m.envelope.source;
    const OpKind call = r.waits ? OpKind::wait : decisive.is_send ? OpKind::send : OpKind::recv;
    const auto peer = decisive.is_send ? static_cast<int32_t>(m.envelope.target) : source;
    const auto until = [&](const Clock& end, Activity activity) {
      timeline_->until({0, ns(end), m.bytes, rank, peer, r.site, activity, call});
    };
    if (m.rendezvous && decisive.is_send) {
      until(transfers_.request_arrival(m), Activity::overhead);
      until(m.posted, Activity::send_wait);
    } else if (!decisive.is_send) {
      until(m.posted, Activity::overhead);
      if (m.rendezvous) {
        until(transfers_.request_arrival(m), Activity::recv_wait);
        until(transfers_.handshake_end(m), Activity::overhead);
      }
      until(m.arrival, Activity::recv_wait);
    }
    until(r.now, Activity::overhead);
    for (const Side side : r.waiting) {
      if (side.is_send) continue;
      const Message<Clock>& received = transfers_.messages[side.message];
      timeline_->message({ns(received.sent), ns(received.recv_end), received.bytes, rank,
                          received.envelope.source, received.recv_site, Activity::message,
                          OpKind::recv});
    }
  }

  void step_path(uint32_t rank) {
    Rank<Clock>& r = ranks_[rank];
    if (nodes_[r.now.path].rank == rank || nodes_.size() == kMostNodes) return;
    nodes_.push_back({r.now.path, rank, ns(r.now), r.site});
    r.now.path = static_cast<uint32_t>(nodes_.size() - 1);
  }

  void name_blocked(uint32_t rank) {
    if (++result_.blocked_count > Result::kMostNamed) return;
    const Rank<Clock>& r = ranks_[rank];
    if (r.stalled) {
      result_.blocked.push_back(fmt::format("rank {}, {}: the eager buffer of rank {} stays full", rank,
                                            trace_.where(rank, r.held.site), r.held.peer));
      return;
    }
    for (const Side side : r.waiting) {
      const Message<Clock>& m = transfers_.messages[transfers_.follow(side.message)];
      if (side.is_send ? m.send_known : m.recv_known) continue;
      result_.blocked.push_back(
          side.is_send
              ? fmt::format("rank {}, {}: sends {} bytes to rank {}, tag {}, but {}", rank,
                            trace_.where(rank, r.site), m.bytes, m.envelope.target, m.envelope.tag,
                            m.has_recv ? "the message does not end" : "nobody receives")
              : fmt::format("rank {}, {}: receives from {}, tag {}, but nobody sends", rank,
                            trace_.where(rank, r.site), rank_or_any(m.envelope.source),
                            tag_or_any(m.envelope.tag)));
      return;
    }
  }
  static std::string rank_or_any(int32_t rank) {
    return rank == Op::kAny ? "any rank" : fmt::format("rank {}", rank);
  }
  static std::string tag_or_any(int32_t tag) { return tag == Op::kAny ? "any" : std::to_string(tag); }

  void name_unmatched(const Message<Clock>& m) {
    if (++result_.unmatched_count > Result::kMostNamed) return;
    const auto [target, source, tag, communicator] = m.envelope;
    result_.unmatched.push_back(m.has_send
                                    ? Unmatched{true, static_cast<uint32_t>(source),
                                                static_cast<int32_t>(target), tag, m.bytes, m.send_site}
                                    : Unmatched{false, target, source, tag, 0, m.recv_site});
  }

  const Trace& trace_;
  std::unique_ptr<Stream> stream_;
  Options options_;
  Timeline* timeline_;
  std::vector<Rank<Clock>> ranks_;
  std::vector<uint64_t> computed_;  // computations so far, for the noise
  Transfers<Clock> transfers_;
  std::vector<PathNode> nodes_;
  Result result_;
};

template <class Clock>
Sensitivity Replayer<Clock>::sensitivity() const {
  Sensitivity out;
  const Clock& end = last().now;
  out.count = end.counts;
  if (nodes_.size() == kMostNodes) return out;  // not all were kept
  double to = ns(end);
  uint32_t site = 0;
  for (uint32_t i = end.path; i != kNone; i = nodes_[i].before) {
    if (++out.steps <= Sensitivity::kMostSteps)
      out.path.push_back({nodes_[i].rank, nodes_[i].ns, to, site});
    to = nodes_[i].ns;
    site = nodes_[i].site;
  }
  std::ranges::reverse(out.path);
  return out;
}

}  // namespace

Result replay(const Trace& trace, const Parameters& parameters, const Options& options,
              Timeline* timeline) {
  Replayer<double> replayer(trace, parameters, options, timeline);
  replayer.run();
  return replayer.result();
}

Sensitivity trace_critical_path(const Trace& trace, const Parameters& parameters,
                                const Options& options) {
  Replayer<Traced> replayer(trace, parameters, options);
  replayer.run();
  return replayer.sensitivity();
}

}  // namespace ompl::model
