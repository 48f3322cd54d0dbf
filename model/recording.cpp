// SPDX-License-Identifier: BSD-3-Clause
#include "model/recording.hpp"

#include <array>
#include <deque>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "model/collectives.hpp"
#include "model/error.hpp"
#include "reader/folder.hpp"
#include "reader/reader.hpp"

namespace ompl::model {

namespace {

using trace::CallView;
using trace::Flag;
using trace::Group;
using trace::Kind;
using trace::Record;

// A communicator as all its members know it.
struct Members {
  uint32_t number;  // the same at all members
  uint32_t rank, size;
  const trace::CommunicatorInfo* info;

  [[nodiscard]] uint32_t world_rank(uint32_t rank_in_it) const {
    const auto& ranks = info->definition.remote > 0 ? info->remote_ranks : info->ranks;
    if (ranks.empty()) return rank_in_it;
    return rank_in_it < ranks.size() ? ranks[rank_in_it] : UINT32_MAX;
  }
};

struct Partner {
  int32_t peer, tag;
};

struct RankFile {
  RankFile(const std::filesystem::path& path) : map(path), trace(path.string(), map.bytes()) {}

  trace::MappedFile map;
  trace::RankTrace trace;
  std::unordered_map<uint32_t, Members> groups;  // by communicator id
  std::unordered_map<uint32_t, uint32_t> sites;  // from its ids to the trace's
  std::unordered_map<uint32_t, std::deque<Partner>>
      partners;                            // of receives from any, by request, in order
  std::unordered_set<uint32_t> cancelled;  // requests
};

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

// The calls of one rank as operations.
class RankReader {
 public:
  RankReader(const RankFile& file, uint32_t rank, const Algorithms& algorithms)
      : file_(file), rank_(rank), algorithms_(algorithms) {
    if (!file.trace.threads().empty()) thread_ = &file.trace.threads().front();
  }

  bool next(Op& op) {
    while (given_ == ops_.size()) {
      ops_.clear();
      given_ = 0;
      CallView view{};
      if (over_ || !next_call(view)) return false;
      translate(view);
    }
    op = ops_[given_++];
    return true;
  }
  [[nodiscard]] const std::map<std::string, uint64_t>& not_modelled() const { return not_modelled_; }
  [[nodiscard]] uint64_t count_of(Collective kind) const {
    return collectives_[static_cast<std::size_t>(kind)];
  }

 private:
  const Record* next_record() {
    if (thread_ == nullptr) return nullptr;
    while (block_ < thread_->blocks.size() && record_ == thread_->blocks[block_].size()) {
      ++block_;
      record_ = 0;
    }
    return block_ == thread_->blocks.size() ? nullptr : &thread_->blocks[block_][record_];
  }

  // A call and the side records behind it, which may lie in the next block.
  bool next_call(CallView& view) {
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
  static bool is_side(const Record& record) { return trace::group_of(record.kind) == Group::kSide; }

  void translate(const CallView& view);
  void send(const CallView& view);
  void post(const Record& call);
  void complete(const CallView& view);
  void start(const CallView& view);
  void collective(const CallView& view, Collective kind);
  void opaque(const Record& call) {
    add({.kind = OpKind::compute, .ns = static_cast<double>(call.end - call.begin)});
    ++not_modelled_[name_of_kind(call.kind)];
  }

  void add(Op op) {
    op.site = site_;
    if (op.kind == OpKind::isend || op.kind == OpKind::irecv) ++posted_;
    ops_.push_back(op);
  }

  const Members& group(uint32_t communicator) const {
    const auto found = file_.groups.find(communicator);
    if (found == file_.groups.end())
      refuse("rank {}: a call names communicator {}, which is none", rank_, communicator);
    return found->second;
  }
  // An operation with a rank of a communicator; nothing for MPI_PROC_NULL.
  std::optional<Op> message(OpKind kind, const Record& call) const {
    if (call.peer == trace::kProcNull || call.peer == trace::kNoPeer) return std::nullopt;
    const Members& of = group(call.comm);
    Op op{.kind = kind,
          .site = site_,
          .communicator = 2 * of.number,
          .tag = call.tag,
          .bytes = call.bytes};
    op.peer = call.peer == trace::kAnySource
                  ? Op::kAny
                  : static_cast<int32_t>(of.world_rank(static_cast<uint32_t>(call.peer)));
    op.synchronous =
        call.kind == Kind::kSsend || call.kind == Kind::kIssend || call.kind == Kind::kSsendInit;
    return op;
  }
  void wait_for(std::span<const uint64_t> requests) {
    for (std::size_t i = 0; i < requests.size(); ++i)
      add({.kind = OpKind::wait, .more = i + 1 < requests.size(), .request = requests[i]});
  }

  const RankFile& file_;
  uint32_t rank_;
  Algorithms algorithms_;
  std::array<uint64_t, kCollectives> collectives_{};  // so far
  const trace::StreamView* thread_ = nullptr;
  std::size_t block_ = 0, record_ = 0;
  trace::StreamView piece_;  // of the present call
  std::vector<Op> ops_;      // of the present call
  std::size_t given_ = 0;
  uint64_t before_ = 0;  // end of the call before
  uint64_t posted_ = 0;
  uint32_t site_ = 0;
  bool begun_ = false, over_ = false;
  std::unordered_map<uint32_t, uint64_t> open_;      // from their ids to ours
  std::unordered_map<uint32_t, Record> persistent_;  // as made
  std::unordered_map<uint32_t, std::size_t> partners_used_;
  std::map<std::string, uint64_t> not_modelled_;
};

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
      op.peer = static_cast<int32_t>(of.world_rank(step.from));
      add(op);
    }
    if (step.to != Exchange::kNobody) {
      op.kind = both ? OpKind::isend : OpKind::send;
      op.peer = static_cast<int32_t>(of.world_rank(step.to));
      add(op);
    }
    if (both) wait_for(std::array{posted_ - 2, posted_ - 1});
  }
}

class RecordingStream : public Stream {
 public:
  RecordingStream(const std::vector<std::unique_ptr<RankFile>>& files, const Algorithms& algorithms) {
    for (uint32_t rank = 0; rank < files.size(); ++rank)
      ranks_.emplace_back(*files[rank], rank, algorithms);
  }
  bool next(uint32_t rank, Op& op) override { return ranks_[rank].next(op); }
  [[nodiscard]] std::map<std::string, uint64_t> not_modelled() const override {
    std::map<std::string, uint64_t> out;
    for (const RankReader& rank : ranks_)
      for (const auto& [name, count] : rank.not_modelled()) out[name] += count;
    return out;
  }
  [[nodiscard]] std::map<std::string, uint64_t> collectives() const override {
    std::map<std::string, uint64_t> out;
    for (std::size_t i = 0; i < kCollectives; ++i)
      for (const RankReader& rank : ranks_)
        if (const uint64_t count = rank.count_of(static_cast<Collective>(i)))
          out[std::string(name_of(static_cast<Collective>(i)))] += count;
    return out;
  }

 private:
  std::vector<RankReader> ranks_;
};

}  // namespace

struct Recording::Files {
  std::vector<std::unique_ptr<RankFile>> ranks;
  std::vector<std::string> sites{"unknown call site"};

  explicit Files(const std::string& folder) {
    std::map<uint64_t, uint32_t> groups;
    std::map<std::string, uint32_t> known_sites;
    for (const auto& path : trace::rank_files(folder)) {
      auto file = std::make_unique<RankFile>(path);
      const auto& trace = file->trace;
      if (trace.threads().size() > 1)
        refuse("{}: {} threads of this rank called MPI; a rank of the model is one processor",
               path.string(), trace.threads().size());
      if (trace.header().rank != ranks.size())
        refuse("{}: is of rank {}", path.string(), trace.header().rank);
      for (const auto& [id, info] : trace.communicators()) {
        const auto number =
            groups.emplace(info.definition.global, static_cast<uint32_t>(groups.size())).first;
        file->groups[id] = {number->second, info.definition.rank, info.definition.size, &info};
      }
      for (const auto& [id, site] : trace.sites()) {
        const std::string name = fmt::format("{}+{:#x} ({}+{:#x})", trace.text(site.symbol),
                                             site.inside, trace.text(site.module), site.offset);
        const auto number = known_sites.emplace(name, static_cast<uint32_t>(sites.size()));
        if (number.second) sites.push_back(name);
        file->sites[id] = number.first->second;
      }
      for (const auto& thread : trace.threads()) learn(*file, thread);
      ranks.push_back(std::move(file));
    }
  }
};

Recording::Recording(const std::string& folder) {
  try {
    files_ = std::make_unique<Files>(folder);
  } catch (const trace::TraceError& error) {
    refuse("{}", error.what());
  }
}

Recording::~Recording() = default;

uint32_t Recording::ranks() const { return static_cast<uint32_t>(files_->ranks.size()); }
std::unique_ptr<Stream> Recording::open() const { return open_with({}); }
std::unique_ptr<Stream> Recording::open_with(const Algorithms& algorithms) const {
  return std::make_unique<RecordingStream>(files_->ranks, algorithms);
}
uint32_t Recording::sites() const { return static_cast<uint32_t>(files_->sites.size()); }
std::string Recording::where(uint32_t /*rank*/, uint32_t site) const { return files_->sites[site]; }

bool is_recording(const std::string& path) { return std::filesystem::is_directory(path); }

}  // namespace ompl::model
