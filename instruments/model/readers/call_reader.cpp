// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/call_reader.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ompl::model {

namespace {

using trace::CallView;
using trace::Flag;
using trace::Group;
using trace::Kind;
using trace::Record;

// Calls that look again this soon, and between them find nothing, are one wait (docs/reference/trace-format.md).
constexpr double kPollNs = 1000;
constexpr std::size_t kMostPolledSites = 16;

bool found_nothing(const Record& call) {
  if ((call.flags & Flag::kRetried) != 0) return true;
  if ((call.flags & (Flag::kCompleted | Flag::kFailed)) != 0) return false;
  switch (call.kind) {
    case Kind::kTest:
    case Kind::kTestany:
    case Kind::kTestsome:
    case Kind::kTestall:
    case Kind::kIprobe:
    case Kind::kImprobe:
    case Kind::kOmplPoll:
    case Kind::kOmplHandleTest:
    case Kind::kOmplHaloTest:
    case Kind::kOmplProgress:
      return true;
    default:
      return false;
  }
}

std::optional<Collective> collective_of(Kind kind) {
  using enum Kind;
  static constexpr std::pair<Kind, Collective> kModelled[] = {
      {kBarrier, Collective::barrier},
      {kBcast, Collective::bcast},
      {kReduce, Collective::reduce},
      {kGather, Collective::gather},
      {kGatherv, Collective::gather},
      {kScatter, Collective::scatter},
      {kScatterv, Collective::scatter},
      {kAllgather, Collective::allgather},
      {kAllgatherv, Collective::allgather},
      {kAllreduce, Collective::allreduce},
      {kAlltoall, Collective::alltoall},
      {kAlltoallv, Collective::alltoall},
      {kAlltoallw, Collective::alltoall},
      {kReduceScatter, Collective::reduce_scatter},
      {kReduceScatterBlock, Collective::reduce_scatter},
      {kScan, Collective::scan},
      {kExscan, Collective::scan},
  };
  const auto* const found =
      std::ranges::find(kModelled, trace::blocking(kind), &std::pair<Kind, Collective>::first);
  return found == std::end(kModelled) ? std::nullopt : std::optional(found->second);
}

}  // namespace

bool CallReader::next(Op& op) {
  while (given_ == ops_.size()) {
    ops_.clear();
    given_ = 0;
    trace::CallView view{};
    if (over_ || !next_call(view)) return false;
    translate(view);
  }
  op = ops_[given_++];
  return true;
}

std::string CallReader::name(const Record& call) const {
  const char* const name = trace::name_of(call.kind);
  return name == nullptr ? "an unknown call" : name;
}

void CallReader::opaque(const Record& call, const char* why) {
  add({.kind = OpKind::compute, .ns = ns(call.begin, call.end)});
  ++not_modelled_[name(call) + why];
  if (trace::group_of(call.kind) == Group::kPostCollective) open(call.request, Op::kNoRequest);
}

std::optional<Op> CallReader::message(OpKind kind, const Record& call) {
  if (call.peer == trace::kProcNull || call.peer == trace::kNoPeer) return std::nullopt;
  const Members& of = group(call.comm);
  Op op{.kind = kind,
        .site = site_,
        .communicator = communicator(of, Traffic::messages),
        .tag = call.tag,
        .bytes = call.bytes};
  op.peer =
      call.peer == trace::kAnySource ? Op::kAny : static_cast<int32_t>(of.world_rank(rank_, call.peer));
  op.synchronous =
      call.kind == Kind::kSsend || call.kind == Kind::kIssend || call.kind == Kind::kSsendInit;
  op.buffered =
      call.kind == Kind::kBsend || call.kind == Kind::kIbsend || call.kind == Kind::kBsendInit;
  return op;
}

void CallReader::translate(const CallView& view) {
  const Record& call = *view.call;
  site_ = site(call);
  // Computation began with the end of MPI_Init.
  const bool soon = ns(before_, call.begin) <= kPollNs;
  if (!soon) polled_sites_.clear();
  const bool polls = std::ranges::find(polled_sites_, call.site) != polled_sites_.end();
  if (begun_ && call.begin > before_ && !polls) {
    add({.kind = OpKind::compute, .ns = ns(before_, call.begin)});
    if (task_site_ != 0) ops_.back().site = task_site_;
  }
  if (call.kind == Kind::kOmplTaskEnd) task_site_ = 0;
  begun_ = true;
  before_ = call.end;
  if (!found_nothing(call)) {
    polled_sites_.clear();
  } else if (!polls && call.site != 0) {
    if (polled_sites_.size() == kMostPolledSites) polled_sites_.erase(polled_sites_.begin());
    polled_sites_.push_back(call.site);
  }
  if ((call.flags & Flag::kFailed) != 0) return opaque(call);
  if (goes_to_ranks(trace::group_of(call.kind)) && group(call.comm).outside)
    return opaque(call, " in a communicator with spawned processes");
  switch (trace::group_of(call.kind)) {
    case Group::kProcess:
      over_ = call.kind == Kind::kFinalize || call.kind == Kind::kAbort;
      if (call.kind == Kind::kPcontrol && (call.tag == 0 || call.tag == 1))
        add({.kind = OpKind::mark, .bytes = static_cast<uint64_t>(call.tag)});
      return;
    case Group::kSend:
      return send(view);
    case Group::kReceive:
      if (const auto op = message(OpKind::recv, call)) add(*op);
      return;
    case Group::kPostSend:
      if (!view.matches.empty()) return opaque(call);  // Isendrecv
      return post(call);
    case Group::kPostReceive:
      return post(call);
    case Group::kMakeSend:
    case Group::kMakeReceive:
      if (call.kind == Kind::kPsendInit || call.kind == Kind::kPrecvInit) return opaque(call);
      persistent_[call.request] = call;
      return;
    case Group::kStart:
      return start(view);
    case Group::kComplete:
      return complete(view.requests());
    case Group::kCollective:
    case Group::kPostCollective:
      if (const auto kind = collective_of(call.kind)) return collective(view, *kind);
      return neighbours(view);
    case Group::kOneSided:
    case Group::kPostOneSided:
      return access(call);
    case Group::kEpoch:
      return synchronize(view);
    case Group::kPgas:
      return own(view);
    case Group::kProbe:   // the receive waits
    case Group::kTracer:  // no time of the program
    case Group::kRequest:
    case Group::kSide:
    case Group::kDefinition:
      return;
    default:
      return opaque(call);
  }
}

void CallReader::send(const CallView& view) {
  const Record& call = *view.call;
  const auto out = message(view.matches.empty() ? OpKind::send : OpKind::isend, call);
  if (view.matches.empty()) {
    if (out) add(*out);
    return;
  }
  // MPI_Sendrecv: both at once.
  Record match = view.matches.front();
  match.comm = call.comm;
  std::vector<uint64_t> requests;
  for (const auto& op : {message(OpKind::irecv, match), out}) {
    if (!op) continue;
    requests.push_back(posted_);
    add(*op);
  }
  wait_for(requests);
}

void CallReader::post(const Record& call) {
  Record known = call;
  const bool stays = complete_post(known);
  const Group group = trace::group_of(call.kind);
  const bool sends = group == Group::kPostSend || group == Group::kMakeSend;
  const auto op = stays ? message(sends ? OpKind::isend : OpKind::irecv, known) : std::optional<Op>{};
  if (op) add(*op);
  open(call.request, op ? posted_ - 1 : Op::kNoRequest);
}

// From now on `request` may be waited for; kNoRequest: it is of no message.
void CallReader::open(uint32_t request, uint64_t ours) {
  if (const auto number = given(request))
    add({.kind = OpKind::hand, .request = ours, .number = *number});
  else if (ours != Op::kNoRequest)
    open_[request] = ours;
}

void CallReader::start(const CallView& view) {
  for (const uint32_t request : view.requests()) {
    const auto made = persistent_.find(request);
    const Record* const known = made != persistent_.end() ? &made->second : made_elsewhere(request);
    if (known != nullptr && !group(known->comm).outside) {
      post(*known);
    } else {
      opaque(*view.call);
      open(request, Op::kNoRequest);
    }
  }
}

// What a test or a wait completed; of one that completed nothing there is nothing to say.
void CallReader::complete(const std::vector<uint32_t>& requests) {
  std::vector<Op> waits;
  for (const uint32_t request : requests) {
    if (const auto number = taken(request)) {
      waits.push_back({.kind = OpKind::wait, .more = true, .handed = true, .number = *number});
      continue;
    }
    const auto found = open_.find(request);
    if (found == open_.end()) continue;  // of no message, or of MPI_PROC_NULL
    waits.push_back({.kind = OpKind::wait, .more = true, .request = found->second});
    open_.erase(found);
  }
  if (!waits.empty()) waits.back().more = false;
  for (const Op& wait : waits) add(wait);
}

void CallReader::collective(const CallView& view, Collective kind) {
  const Record& call = *view.call;
  const Members& of = group(call.comm);
  if (of.info->definition.remote > 0) return opaque(call);  // between two groups
  const auto& sent = view.sent;
  const auto& received = view.received;
  for (const auto* counts : {&sent, &received})
    if (!counts->empty() && counts->size() != of.size)
      refuse("rank {}: {} has {} counts for {} ranks", rank_, name(call), counts->size(), of.size);
  const uint32_t root = call.peer >= 0 ? static_cast<uint32_t>(call.peer) : 0;
  if (root >= of.size) refuse("rank {}: {} has the root {} of {}", rank_, name(call), root, of.size);
  const bool parts = kind == Collective::reduce_scatter && !received.empty();
  const CollectiveCall what{kind,    of.rank, of.size, root, call.bytes, parts ? received : sent,
                            received};
  const bool nonblocking = trace::group_of(call.kind) == Group::kPostCollective;
  const int32_t first_tag = collective_tag(of, call);
  if (nonblocking) begin_branch(rank_);
  exchange_all(what, of, first_tag);
  if (nonblocking) open(call.request, end_branch());
}

void CallReader::exchange_all(const CollectiveCall& what, const Members& of, int32_t first_tag) {
  ++collectives_[static_cast<std::size_t>(what.kind)];
  for (const Exchange& step : expand(what, algorithms_)) {
    Op op{.collective = true,
          .communicator = communicator(of, Traffic::collectives),
          .tag = first_tag + step.tag,
          .bytes = step.bytes};
    const bool both = step.to != Exchange::kNobody && step.from != Exchange::kNobody;
    if (step.from != Exchange::kNobody) {
      op.kind = both ? OpKind::irecv : OpKind::recv;
      op.peer = static_cast<int32_t>(of.world_rank(rank_, step.from));
      add(op);
    }
    if (step.to != Exchange::kNobody) {
      op.kind = both ? OpKind::isend : OpKind::send;
      op.peer = static_cast<int32_t>(of.world_rank(rank_, step.to));
      add(op);
    }
    if (both) wait_for(std::array{posted_ - 2, posted_ - 1});
  }
}

// All messages at once.
void CallReader::neighbours(const CallView& view) {
  const Record& call = *view.call;
  const auto with = neighbours_in(call.comm);
  if (!with) return opaque(call);
  const Members& of = group(call.comm);
  if (!view.sent.empty() && view.sent.size() != with->destinations.size())
    refuse("rank {}: {} has {} counts for {} neighbours", rank_, name(call), view.sent.size(),
           with->destinations.size());
  const bool nonblocking = trace::group_of(call.kind) == Group::kPostCollective;
  const int32_t tag = collective_tag(of, call);
  if (nonblocking) begin_branch(rank_);
  std::vector<uint64_t> requests;
  const auto post = [&](OpKind kind, int64_t peer, uint64_t bytes) {
    if (peer == Neighbours::kNobody) return;
    requests.push_back(posted_);
    add({.kind = kind,
         .collective = true,
         .communicator = communicator(of, Traffic::collectives),
         .peer = static_cast<int32_t>(of.world_rank(rank_, peer)),
         .tag = tag,
         .bytes = bytes});
  };
  for (const int64_t source : with->sources) post(OpKind::irecv, source, 0);
  for (std::size_t i = 0; i < with->destinations.size(); ++i)
    post(OpKind::isend, with->destinations[i], view.sent.empty() ? call.bytes : view.sent[i]);
  wait_for(requests);
  if (nonblocking) open(call.request, end_branch());
}

// The steps of operations that go on at once have tags of their own. Every rank posts those of a communicator in one
// order, and the blocking ones are never two. Tags come back when they are used up.
int32_t CallReader::collective_tag(const Members& of, const Record& call) {
  if (trace::group_of(call.kind) != Group::kPostCollective) return 0;
  const uint64_t most_tags = 2 * uint64_t{of.size} + 66;  // of one operation
  const uint64_t operations = std::numeric_limits<int32_t>::max() / most_tags - 1;
  const auto told = collective_before(call.request);
  const uint64_t before = told ? *told : posted_collectives_[of.number]++;
  return static_cast<int32_t>((1 + before % operations) * most_tags);
}

std::map<std::string, uint64_t> CallStream::not_modelled() const {
  std::map<std::string, uint64_t> out;
  for (const auto& thread : threads_)
    for (const auto& [name, count] : thread->not_modelled()) out[name] += count;
  return out;
}

std::map<std::string, uint64_t> CallStream::collectives() const {
  std::map<std::string, uint64_t> out;
  for (std::size_t i = 0; i < kCollectives; ++i)
    for (const auto& thread : threads_)
      if (const uint64_t count = thread->count_of(static_cast<Collective>(i)))
        out[std::string(name_of(static_cast<Collective>(i)))] += count;
  return out;
}

}  // namespace ompl::model
