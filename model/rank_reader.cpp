// SPDX-License-Identifier: BSD-3-Clause
#include "model/rank_reader.hpp"

#include <array>

namespace ompl::model {

namespace {

using trace::CallView;
using trace::Flag;
using trace::Group;
using trace::Kind;
using trace::Record;

bool is_side(const Record& record) { return trace::group_of(record.kind) == Group::kSide; }

bool asks_any(const Record& record) {
  return (record.flags & (Flag::kAskedAnySource | Flag::kAskedAnyTag)) != 0 ||
         record.peer == trace::kAnySource || record.tag == trace::kAnyTag;
}

const char* name_of_kind(Kind kind) {
  const char* const name = trace::name_of(kind);
  return name == nullptr ? "an unknown call" : name;
}

// What completions tell of the requests posted before them.
void learn(RankFile& file, const trace::StreamView& thread) {
  std::unordered_set<uint32_t> any;
  const auto complete = [&](uint32_t request, const Record& record) {
    if ((record.flags & Flag::kCancelled) != 0) file.cancelled.insert(request);
    if (any.contains(request) && record.peer >= 0)
      file.partners[request].push_back({record.peer, record.tag});
  };
  file.trace.for_each_call(thread, [&](const CallView& view) {
    const Record& call = *view.call;
    if (call.site < file.kinds.size()) file.kinds[call.site] = call.kind;
    switch (trace::group_of(call.kind)) {
      case Group::kPostReceive:
      case Group::kMakeReceive:
        if (asks_any(call)) any.insert(call.request);
        break;
      case Group::kComplete:
        if (call.request != 0) complete(call.request, call);
        for (const Record& match : view.matches) complete(match.request, match);
        break;
      default:
        break;
    }
  });
}

std::optional<Collective> collective_of(Kind kind) {
  constexpr uint16_t kNonblocking = 40;
  if (trace::group_of(kind) == Group::kPostCollective)
    kind = static_cast<Kind>(static_cast<uint16_t>(kind) - kNonblocking);
  switch (kind) {
    case Kind::kBarrier:
      return Collective::barrier;
    case Kind::kBcast:
      return Collective::bcast;
    case Kind::kReduce:
      return Collective::reduce;
    case Kind::kGather:
    case Kind::kGatherv:
      return Collective::gather;
    case Kind::kScatter:
    case Kind::kScatterv:
      return Collective::scatter;
    case Kind::kAllgather:
    case Kind::kAllgatherv:
      return Collective::allgather;
    case Kind::kAllreduce:
      return Collective::allreduce;
    case Kind::kAlltoall:
    case Kind::kAlltoallv:
    case Kind::kAlltoallw:
      return Collective::alltoall;
    case Kind::kReduceScatter:
    case Kind::kReduceScatterBlock:
      return Collective::reduce_scatter;
    case Kind::kScan:
    case Kind::kExscan:
      return Collective::scan;
    default:
      return std::nullopt;
  }
}

}  // namespace

RankFile::RankFile(const std::filesystem::path& path) : map(path), trace(path.string(), map.bytes()) {
  const auto& threads = trace.threads();
  if (threads.size() > 1)
    refuse("{}: {} threads of this rank called MPI; a rank of the model is one processor",
           path.string(), threads.size());
  for (const auto& thread : threads) learn(*this, thread);
}

bool RankReader::next(Op& op) {
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

const Record* RankReader::next_record() {
  if (thread_ == nullptr) return nullptr;
  while (block_ < thread_->blocks.size() && record_ == thread_->blocks[block_].size()) {
    ++block_;
    record_ = 0;
  }
  return block_ == thread_->blocks.size() ? nullptr : &thread_->blocks[block_][record_];
}

bool RankReader::next_call(CallView& view) {
  if (next_record() == nullptr) return false;
  piece_.blocks.clear();
  do {
    const auto& block = thread_->blocks[block_];
    const std::size_t first = record_++;
    while (record_ < block.size() && is_side(block[record_])) ++record_;
    piece_.blocks.push_back(block.subspan(first, record_ - first));
  } while (next_record() != nullptr && is_side(*next_record()));
  file_.trace.for_each_call(piece_, [&view](const CallView& one) { view = one; });
  return true;
}

void RankReader::opaque(const Record& call) {
  add({.kind = OpKind::compute, .ns = static_cast<double>(call.end - call.begin)});
  ++not_modelled_[name_of_kind(call.kind)];
}

std::optional<Op> RankReader::message(OpKind kind, const Record& call) const {
  if (call.peer == trace::kProcNull || call.peer == trace::kNoPeer) return std::nullopt;
  const Members& of = group(call.comm);
  Op op{
      .kind = kind, .site = site_, .communicator = 2 * of.number, .tag = call.tag, .bytes = call.bytes};
  op.peer =
      call.peer == trace::kAnySource ? Op::kAny : static_cast<int32_t>(of.world_rank(rank_, call.peer));
  op.synchronous =
      call.kind == Kind::kSsend || call.kind == Kind::kIssend || call.kind == Kind::kSsendInit;
  op.buffered =
      call.kind == Kind::kBsend || call.kind == Kind::kIbsend || call.kind == Kind::kBsendInit;
  return op;
}

void RankReader::translate(const CallView& view) {
  const Record& call = *view.call;
  const auto site = file_.sites.find(call.site);
  site_ = site == file_.sites.end() ? 0 : site->second;
  // Computation began with the end of MPI_Init.
  if (begun_ && call.begin > before_)
    add({.kind = OpKind::compute, .ns = static_cast<double>(call.begin - before_)});
  begun_ = true;
  before_ = call.end;
  if ((call.flags & Flag::kFailed) != 0) return opaque(call);
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
      return complete(view);
    case Group::kCollective:
    case Group::kPostCollective:
      if (const auto kind = collective_of(call.kind)) return collective(view, *kind);
      return opaque(call);
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

void RankReader::send(const CallView& view) {
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

void RankReader::post(const Record& call) {
  if (file_.cancelled.contains(call.request)) return;
  const Group group = trace::group_of(call.kind);
  const bool sends = group == Group::kPostSend || group == Group::kMakeSend;
  Record known = call;
  const auto partners = file_.partners.find(call.request);
  if (!sends && partners != file_.partners.end()) {
    std::size_t& used = partners_used_[call.request];
    if (used < partners->second.size()) {
      known.peer = partners->second[used].peer;
      known.tag = partners->second[used].tag;
      ++used;
    }
  }
  const auto op = message(sends ? OpKind::isend : OpKind::irecv, known);
  if (!op) return;
  open_[call.request] = posted_;
  add(*op);
}

void RankReader::start(const CallView& view) {
  std::vector<uint32_t> requests = view.ids;
  if ((view.call->flags & Flag::kSeveral) == 0) requests = {view.call->request};
  for (const uint32_t request : requests) {
    const auto made = persistent_.find(request);
    if (made == persistent_.end())
      opaque(*view.call);
    else
      post(made->second);
  }
}

// What a test or a wait completed; of one that completed nothing there is nothing to say.
void RankReader::complete(const CallView& view) {
  std::vector<uint32_t> requests = view.ids;
  for (const Record& match : view.matches) requests.push_back(match.request);
  if ((view.call->flags & Flag::kSeveral) == 0) requests = {view.call->request};
  std::vector<uint64_t> ours;
  for (const uint32_t request : requests) {
    const auto found = open_.find(request);
    if (found == open_.end()) continue;  // of no message, or of MPI_PROC_NULL
    ours.push_back(found->second);
    open_.erase(found);
  }
  wait_for(ours);
}

void RankReader::collective(const CallView& view, Collective kind) {
  const Record& call = *view.call;
  const Members& of = group(call.comm);
  if (of.info->definition.remote > 0) return opaque(call);  // between two groups
  const auto& sent = view.sent;
  const auto& received = view.received;
  for (const auto* counts : {&sent, &received})
    if (!counts->empty() && counts->size() != of.size)
      refuse("rank {}: {} has {} counts for {} ranks", rank_, name_of_kind(call.kind), counts->size(),
             of.size);
  const uint32_t root = call.peer >= 0 ? static_cast<uint32_t>(call.peer) : 0;
  if (root >= of.size)
    refuse("rank {}: {} has the root {} of {}", rank_, name_of_kind(call.kind), root, of.size);
  const bool parts = kind == Collective::reduce_scatter && !received.empty();
  const CollectiveCall what{kind,    of.rank, of.size, root, call.bytes, parts ? received : sent,
                            received};
  ++collectives_[static_cast<std::size_t>(kind)];
  for (const Exchange& step : expand(what, algorithms_)) {
    Op op{.collective = true, .communicator = 2 * of.number + 1, .tag = step.tag, .bytes = step.bytes};
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

}  // namespace ompl::model
