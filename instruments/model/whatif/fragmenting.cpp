// SPDX-License-Identifier: BSD-3-Clause
#include "model/whatif/fragmenting.hpp"

#include "common/input_error.hpp"
#include "model/replay/costs.hpp"

namespace ompl::model {

namespace {

bool sends(const Op& op) { return op.kind == OpKind::send || op.kind == OpKind::isend; }
bool receives(const Op& op) { return op.kind == OpKind::recv || op.kind == OpKind::irecv; }
bool posts(const Op& op) { return op.kind == OpKind::isend || op.kind == OpKind::irecv; }

}  // namespace

double eager_ns(const Parameters& parameters, uint64_t bytes) {
  const Costs<double> costs(parameters);
  const Parts<double>& parts = costs.parts(bytes, false);
  return parts.send_fixed + parts.send_slope + parts.gap + costs.wire() + parts.recv_fixed +
         parts.recv_slope;
}

FragmentingCost fragmenting_cost(const Parameters& parameters, uint64_t bytes) {
  if (parameters.longest_eager == 0) refuse("with S = 0 there is no length to cut messages to");
  const uint64_t messages =
      bytes / parameters.longest_eager + (bytes % parameters.longest_eager > 0 ? 1 : 0);
  return {messages, static_cast<double>(messages) * eager_ns(parameters, parameters.longest_eager)};
}

std::size_t Fragmented::Hash::operator()(const Channel& channel) const {
  uint64_t x = uint64_t{channel.source} << 32 | channel.target;
  x = (x ^ x >> 29) * 0x9e3779b97f4a7c15 + (uint64_t{channel.communicator} << 32);
  x = (x + static_cast<uint32_t>(channel.tag)) * 0xbf58476d1ce4e5b9;
  return x ^ x >> 32;
}

Fragmented::Channel Fragmented::channel_of(uint32_t rank, const Op& op) {
  const auto peer = static_cast<uint32_t>(op.peer);
  return {sends(op) ? rank : peer, sends(op) ? peer : rank, op.communicator, op.tag};
}

bool Fragmented::may_be_cut(const Op& op) const {
  return (sends(op) || receives(op)) && !op.collective;
}

Fragmented::Fragmented(const Trace& trace, uint64_t most) : Remade(trace), most_(most) {
  if (most == 0) refuse("messages cannot be cut to 0 bytes");
  const auto stream = trace.open();
  Op op;
  for (uint32_t thread = 0; thread < trace.threads(); ++thread) {
    const uint32_t rank = trace.rank_of(thread);
    bool in_branch = false;
    while (stream->next(thread, op)) {
      if (op.kind == OpKind::hand && op.request != Op::kNoRequest)
        refuse("{}: another thread waits for what it posted, so messages cannot be cut",
               trace.thread_name(thread));
      if (op.kind == OpKind::branch) in_branch = op.bytes > 0;
      if (in_branch || !may_be_cut(op)) continue;
      if (op.peer == Op::kAny || op.tag == Op::kAny)
        refuse(
            "rank {}, {}: this receive does not say which message it gets, so messages cannot be cut",
            rank, trace.where(rank, op.site));
      const Channel channel = channel_of(rank, op);
      if (!trace.further_threads().empty()) keep_to_one_thread(channel, op, thread);
      if (!sends(op)) continue;
      std::vector<Run>& runs = sent_[channel];
      const uint64_t bytes = op.buffered ? 0 : op.bytes;  // as far as it may be cut
      if (runs.empty() || runs.back().bytes != bytes)
        runs.push_back({bytes, 1});
      else
        ++runs.back().count;
    }
  }
}

// Between threads the order of messages is not known before they are replayed.
void Fragmented::keep_to_one_thread(const Channel& channel, const Op& op, uint32_t thread) {
  auto& users = sends(op) ? senders_ : receivers_;
  const uint32_t other = users.emplace(channel, thread).first->second;
  if (other != thread)
    refuse("{}, and thread {}, {}, {} of one kind, so messages cannot be cut",
           trace_.thread_name(other), trace_.number_in_rank(thread),
           trace_.where(trace_.rank_of(thread), op.site),
           sends(op) ? "send messages" : "receive messages");
}

class FragmentedStream : public Stream {
 public:
  FragmentedStream(const Fragmented& trace, const Algorithms& algorithms)
      : trace_(trace), stream_(trace.trace_.open_with(algorithms)), threads_(trace.threads()) {}

  bool next(uint32_t thread, Op& op) override {
    Thread& r = threads_[thread];
    while (r.given == r.ops.size()) {
      r.ops.clear();
      r.given = 0;
      Op original;
      if (!stream_->next(thread, original)) return false;
      cut(thread, original);
    }
    op = r.ops[r.given++];
    return true;
  }
  [[nodiscard]] std::map<std::string, uint64_t> not_modelled() const override {
    return stream_->not_modelled();
  }

 private:
  struct Pieces {
    uint64_t first, count;  // requests
  };
  struct Thread {
    std::vector<Op> ops;  // of the present operation
    std::size_t given = 0;
    uint64_t posted = 0, posted_before = 0;  // requests, now and in the trace that is cut
    bool in_branch = false;
    std::unordered_map<uint64_t, Pieces> open;
  };
  struct Place {
    std::size_t run = 0;
    uint64_t in_run = 0;
  };

  void cut(uint32_t thread, const Op& op) {
    Thread& r = threads_[thread];
    const uint32_t rank = trace_.rank_of(thread);
    if (op.kind == OpKind::branch || r.in_branch || op.kind == OpKind::hand || op.handed)
      return keep(r, op);
    if (op.kind == OpKind::wait) return wait(r, op);
    const uint64_t bytes = receives(op) && trace_.may_be_cut(op) ? next_length(rank, op) : op.bytes;
    const uint64_t most =
        trace_.may_be_cut(op) && !op.buffered ? trace_.most_ : std::max<uint64_t>(bytes, 1);
    const uint64_t first = r.posted;
    for (uint64_t at = 0; at == 0 || at < bytes; at += most) {
      r.ops.push_back(op);
      r.ops.back().bytes = std::min(most, bytes - at);
      r.posted += posts(op) ? 1 : 0;
    }
    if (posts(op)) r.open[r.posted_before++] = {first, r.posted - first};
  }

  // Branches are of operations that are not cut.
  static void keep(Thread& r, const Op& op) {
    r.ops.push_back(op);
    if (op.kind != OpKind::branch) return;
    r.in_branch = op.bytes > 0;
    if (!r.in_branch) r.open[r.posted_before++] = {r.posted++, 1};
  }

  static void wait(Thread& r, const Op& op) {
    const auto found = r.open.find(op.request);
    if (found == r.open.end()) refuse("a thread waits for request {}, which is not open", op.request);
    const Pieces pieces = found->second;
    r.open.erase(found);
    for (uint64_t i = 0; i < pieces.count; ++i) {
      r.ops.push_back(op);
      r.ops.back().request = pieces.first + i;
      r.ops.back().more = op.more || i + 1 < pieces.count;
    }
  }

  // Of the message that this receive gets: the next of its channel. 0 if none is sent.
  uint64_t next_length(uint32_t rank, const Op& op) {
    const auto channel = Fragmented::channel_of(rank, op);
    const auto found = trace_.sent_.find(channel);
    if (found == trace_.sent_.end()) return 0;
    Place& place = places_[channel];
    if (place.run == found->second.size()) return 0;
    const Fragmented::Run& run = found->second[place.run];
    if (++place.in_run == run.count) place = {place.run + 1, 0};
    return run.bytes;
  }

  const Fragmented& trace_;
  std::unique_ptr<Stream> stream_;
  std::vector<Thread> threads_;
  std::unordered_map<Fragmented::Channel, Place, Fragmented::Hash> places_;
};

std::unique_ptr<Stream> Fragmented::open_with(const Algorithms& algorithms) const {
  return std::make_unique<FragmentedStream>(*this, algorithms);
}

}  // namespace ompl::model
