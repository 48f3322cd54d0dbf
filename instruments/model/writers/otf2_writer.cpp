// SPDX-License-Identifier: BSD-3-Clause
#include "model/writers/otf2_writer.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "model/readers/otf2/archive.hpp"
#include "model/readers/otf2/names.hpp"
#include "model/readers/otf2/numbers.hpp"
#include "model/readers/otf2/sizes.hpp"
#include "model/readers/rank_reader.hpp"
#include "model/writers/otf2_draft.hpp"

namespace ompl::model {
namespace otf2 {
namespace {

using trace::CallView;
using trace::Flag;
using trace::Group;
using trace::Kind;
using trace::Record;

constexpr uint64_t kEventChunk = OTF2_CHUNK_SIZE_MIN;  // the smallest: a reader keeps one for each rank
constexpr uint64_t kTicksPerSecond = 1'000'000'000;

void check(OTF2_ErrorCode code) {
  if (code != OTF2_SUCCESS) refuse("the OTF2 archive cannot be written: {}", last_error());
}

template <class Handle>
Handle* check(Handle* handle) {
  if (handle == nullptr) refuse("the OTF2 archive cannot be written: {}", last_error());
  return handle;
}

struct RegionKey {
  std::string name, place;
  Kind kind;
  auto operator<=>(const RegionKey&) const = default;
};

// Ranks of MPI_COMM_WORLD; `others` of an intercommunicator.
struct Groups {
  std::vector<uint64_t> members, others;
};

struct Location {
  std::string host;
  uint64_t events;
};

// What the global definitions will say, which are written last.
struct Tables {
  uint32_t ranks = 0;
  Numbers<RegionKey> regions;
  std::map<uint64_t, uint32_t> communicators;  // numbers, by their identity in the recording
  Numbers<uint32_t> used;                      // those that calls name
  std::vector<Groups> groups;                  // of these
  std::vector<Location> locations;
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;  // of all ranks, in rank 0's time
  Otf2Losses losses;

  uint32_t communicator(const Members& of) {
    const uint32_t number = used.of(of.number);
    if (number < groups.size()) return number;
    Groups& group = groups.emplace_back();
    group.members.assign(of.info->ranks.begin(), of.info->ranks.end());
    group.others.assign(of.info->remote_ranks.begin(), of.info->remote_ranks.end());
    if (of.info->ranks.empty()) {
      group.members.resize(of.size);
      std::iota(group.members.begin(), group.members.end(), 0);
    }
    return number;
  }
};

// A recorded call that the replay takes for computation though its kind is known.
bool is_opaque(const CallView& view) {
  const Kind kind = view.call->kind;
  return (view.call->flags & Flag::kFailed) != 0 || kind == Kind::kPsendInit ||
         kind == Kind::kPrecvInit ||
         (trace::group_of(kind) == Group::kPostSend && !view.matches.empty());
}

class RankWriter {
 public:
  RankWriter(const RankFile& file, OTF2_EvtWriter* out, Tables& tables)
      : file_(file), out_(out), tables_(tables) {}

  void write(const CallView& view) {
    const Record& call = *view.call;
    if (call.kind == Kind::kTracer)
      return check(OTF2_EvtWriter_BufferFlush(out_, nullptr, call.begin, call.end));
    now_ = call.begin;
    const bool opaque = is_opaque(view) || starts_unknown(view) || goes_outside(call);
    const uint32_t region = region_of(call, opaque);
    check(OTF2_EvtWriter_Enter(out_, nullptr, call.begin, region));
    if (!opaque) records(view);
    check(OTF2_EvtWriter_Leave(out_, nullptr, call.end, region));
  }

  void end() {
    for (const auto& [request, posted] : open_)
      if (!sends(posted.record)) ++tables_.losses.open;
  }

 private:
  struct Posted {
    Record record;
    Sizes sizes;  // of a collective
  };

  static bool sends(const Record& record) {
    const Group group = trace::group_of(record.kind);
    return group == Group::kPostSend || group == Group::kMakeSend;
  }
  // With a rank, not with MPI_PROC_NULL.
  static bool names_peer(const Record& record) {
    return record.peer != trace::kProcNull && record.peer != trace::kNoPeer;
  }

  [[nodiscard]] bool starts_unknown(const CallView& view) const {
    return trace::group_of(view.call->kind) == Group::kStart &&
           std::ranges::any_of(view.requests(), [&](uint32_t one) { return !made_.contains(one); });
  }

  [[nodiscard]] bool goes_outside(const Record& call) const {
    return goes_to_ranks(trace::group_of(call.kind)) && group(call.comm).outside;
  }

  uint32_t region_of(const Record& call, bool opaque) {
    std::string name = function_name(call.kind);
    if (call.kind == Kind::kOpaque && call.request != 0) name = file_.trace.text(call.request);
    if (opaque) name += (call.flags & Flag::kFailed) != 0 ? " (failed)" : " (opaque)";
    const auto site = file_.trace.sites().find(call.site);
    std::string place = call.site == 0 ? "" : fmt::format("site {}", call.site);
    if (site != file_.trace.sites().end()) place = place_of(file_.trace, site->second);
    return tables_.regions.of({name, place, call.kind});
  }

  const Members& group(uint32_t communicator) const {
    const auto found = file_.groups.find(communicator);
    if (found == file_.groups.end())
      refuse("a call names communicator {}, which is none", communicator);
    return found->second;
  }
  uint32_t communicator(const Record& call) const { return tables_.communicator(group(call.comm)); }

  void records(const CallView& view) {
    const Record& call = *view.call;
    switch (trace::group_of(call.kind)) {
      case Group::kProcess:
        if (call.kind == Kind::kPcontrol)
          check(OTF2_EvtWriter_ParameterInt(out_, nullptr, now_, 0, call.tag));
        return;
      case Group::kSend:
        send(call);
        for (Record match : view.matches) {
          match.comm = call.comm;
          receive(match);
        }
        return;
      case Group::kReceive:
        return receive(call);
      case Group::kPostSend:
      case Group::kPostReceive:
        return post(call, call.request);
      case Group::kMakeSend:
      case Group::kMakeReceive:
        made_[call.request] = call;
        return;
      case Group::kStart:
        for (const uint32_t request : view.requests()) post(made_.at(request), request);
        return;
      case Group::kProbe:
        return outcome(call);
      case Group::kComplete:
        return complete(view);
      case Group::kCollective:
      case Group::kPostCollective:
        return collective(view);
      case Group::kOneSided:
      case Group::kPostOneSided:
      case Group::kEpoch:
      case Group::kPgas:
        ++tables_.losses.regions;
        return;
      default:
        return;
    }
  }

  void outcome(const Record& call) {
    if ((call.flags & Flag::kCompleted) != 0)
      check(OTF2_EvtWriter_ParameterUnsignedInt(out_, nullptr, now_, 3, 1));
  }

  // An event of a message in the communicator of a call; `request`: its number, if it has one.
  template <class Event, class... Request>
  void message(Event event, const Record& in, const Record& what, Request... request) {
    check(event(out_, nullptr, now_, static_cast<uint32_t>(what.peer), communicator(in),
                static_cast<uint32_t>(what.tag), what.bytes, request...));
  }
  void send(const Record& call) {
    if (names_peer(call)) message(OTF2_EvtWriter_MpiSend, call, call);
  }
  void receive(const Record& call) {
    if (names_peer(call)) message(OTF2_EvtWriter_MpiRecv, call, call);
  }

  void post(const Record& call, uint32_t request) {
    if (file_.is_cancelled(0, request, posts_of_cancelled_) || !names_peer(call)) return;
    open_[request] = {call, {}};
    if (!sends(call)) return check(OTF2_EvtWriter_MpiIrecvRequest(out_, nullptr, now_, request));
    if (call.kind == Kind::kSsendInit || call.kind == Kind::kBsendInit) ++tables_.losses.modes;
    message(OTF2_EvtWriter_MpiIsend, call, call, request);
  }

  void complete(const CallView& view) {
    now_ = view.call->end;
    const std::size_t before = open_.size();
    if ((view.call->flags & Flag::kSeveral) == 0) {
      complete(view.call->request, *view.call);
    } else {
      Record nothing{};
      nothing.peer = trace::kNoPeer;
      for (const uint32_t request : view.ids) complete(request, nothing);
      for (const Record& match : view.matches) complete(match.request, match);
    }
    if (open_.size() == before) outcome(*view.call);  // no record of a completion tells it
  }

  // `found`: what a receive got, if it names a peer; else that is what it asked for.
  void complete(uint32_t request, const Record& found) {
    const auto at = open_.find(request);
    if (at == open_.end()) return;
    const auto [posted, sizes] = at->second;
    open_.erase(at);
    if (trace::group_of(posted.kind) == Group::kPostCollective)
      return check(OTF2_EvtWriter_NonBlockingCollectiveComplete(
          out_, nullptr, now_, *operation_of(posted.kind), communicator(posted), root(posted),
          sizes.sent, sizes.received, request));
    if (sends(posted)) return check(OTF2_EvtWriter_MpiIsendComplete(out_, nullptr, now_, request));
    const Record& got = found.peer >= 0 ? found : posted;
    if (got.peer < 0 || got.tag < 0) {
      ++tables_.losses.open;
      return;
    }
    message(OTF2_EvtWriter_MpiIrecv, posted, got, request);
  }

  static uint32_t root(const Record& call) {
    return call.peer < 0 ? OTF2_COLLECTIVE_ROOT_NONE : static_cast<uint32_t>(call.peer);
  }

  void collective(const CallView& view) {
    const Record& call = *view.call;
    const auto operation = operation_of(call.kind);
    if (!operation) {  // of neighbours
      ++tables_.losses.regions;
      return;
    }
    const Members& of = group(call.comm);
    if (of.info->definition.remote > 0) return;  // not modelled
    const Part part{*kind_of(*operation), of.rank, of.size, call.peer < 0 ? 0 : root(call)};
    const Sizes sizes = sizes_of(part, call.bytes, view.sent, view.received);
    for (const uint64_t bytes : view.sent)
      check(OTF2_EvtWriter_ParameterUnsignedInt(out_, nullptr, now_, 1, bytes));
    for (const uint64_t bytes : view.received)
      check(OTF2_EvtWriter_ParameterUnsignedInt(out_, nullptr, now_, 2, bytes));
    if (trace::group_of(call.kind) == Group::kPostCollective) {
      open_[call.request] = {call, sizes};
      return check(OTF2_EvtWriter_NonBlockingCollectiveRequest(out_, nullptr, now_, call.request));
    }
    check(OTF2_EvtWriter_MpiCollectiveBegin(out_, nullptr, now_));
    check(OTF2_EvtWriter_MpiCollectiveEnd(out_, nullptr, call.end, *operation, communicator(call),
                                          root(call), sizes.sent, sizes.received));
  }

  const RankFile& file_;
  OTF2_EvtWriter* out_;
  Tables& tables_;
  uint64_t now_ = 0;
  std::map<uint32_t, Posted> open_;
  Uses posts_of_cancelled_;
  std::map<uint32_t, Record> made_;  // persistent
};

OTF2_RegionRole role_of(Kind kind) {
  switch (trace::group_of(kind)) {
    case Group::kCollective:
    case Group::kPostCollective:
    case Group::kCommunicator:
      return kind == Kind::kBarrier ? OTF2_REGION_ROLE_BARRIER : OTF2_REGION_ROLE_COLL_OTHER;
    case Group::kOneSided:
    case Group::kPostOneSided:
    case Group::kWindow:
    case Group::kEpoch:
    case Group::kPgas:
      return OTF2_REGION_ROLE_RMA;
    case Group::kOpaque:
    case Group::kProcess:
      return OTF2_REGION_ROLE_UNKNOWN;
    default:
      return OTF2_REGION_ROLE_POINT2POINT;
  }
}

class DefinitionWriter {
 public:
  explicit DefinitionWriter(OTF2_GlobalDefWriter* out) : out_(out) {}

  void write(const Tables& tables) {
    const auto begin = static_cast<uint64_t>(std::max<int64_t>(tables.begin, 0));
    check(OTF2_GlobalDefWriter_WriteClockProperties(
        out_, kTicksPerSecond, begin, static_cast<uint64_t>(std::max<int64_t>(tables.end, 0)) - begin,
        OTF2_UNDEFINED_TIMESTAMP));
    system(tables);
    for (uint32_t i = 0; i < tables.regions.all().size(); ++i) {
      const RegionKey& region = *tables.regions.all()[i];
      const uint32_t name = text(region.name);
      check(OTF2_GlobalDefWriter_WriteRegion(out_, i, name, name, text(""), role_of(region.kind),
                                             OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE,
                                             text(region.place), 0, 0));
    }
    communicators(tables);
    check(OTF2_GlobalDefWriter_WriteParameter(out_, 0, text(kLevel), OTF2_PARAMETER_TYPE_INT64));
    check(OTF2_GlobalDefWriter_WriteParameter(out_, 1, text(kBytesTo), OTF2_PARAMETER_TYPE_UINT64));
    check(OTF2_GlobalDefWriter_WriteParameter(out_, 2, text(kBytesFrom), OTF2_PARAMETER_TYPE_UINT64));
    check(OTF2_GlobalDefWriter_WriteParameter(out_, 3, text(kFound), OTF2_PARAMETER_TYPE_UINT64));
  }

 private:
  // A string's number; writes it when it comes for the first time.
  uint32_t text(std::string_view string) {
    const std::size_t before = strings_.all().size();
    const uint32_t number = strings_.of(std::string(string));
    if (strings_.all().size() > before)
      check(OTF2_GlobalDefWriter_WriteString(out_, number, strings_.all().back()->c_str()));
    return number;
  }

  void system(const Tables& tables) {
    check(OTF2_GlobalDefWriter_WriteSystemTreeNode(out_, 0, text("machine"), text("machine"),
                                                   OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    Numbers<std::string> hosts;
    for (uint32_t rank = 0; rank < tables.ranks; ++rank) {
      const Location& location = tables.locations[rank];
      const std::size_t before = hosts.all().size();
      const uint32_t node = 1 + hosts.of(location.host);
      if (hosts.all().size() > before)
        check(
            OTF2_GlobalDefWriter_WriteSystemTreeNode(out_, node, text(location.host), text("node"), 0));
      check(OTF2_GlobalDefWriter_WriteLocationGroup(out_, rank, text(fmt::format("MPI Rank {}", rank)),
                                                    OTF2_LOCATION_GROUP_TYPE_PROCESS, node,
                                                    OTF2_UNDEFINED_LOCATION_GROUP));
      check(OTF2_GlobalDefWriter_WriteLocation(out_, rank, text("Master thread"),
                                               OTF2_LOCATION_TYPE_CPU_THREAD, location.events, rank));
    }
  }

  uint32_t group(OTF2_GroupType type, const std::vector<uint64_t>& members) {
    check(OTF2_GlobalDefWriter_WriteGroup(out_, groups_, text(""), type, OTF2_PARADIGM_MPI,
                                          OTF2_GROUP_FLAG_NONE, static_cast<uint32_t>(members.size()),
                                          members.data()));
    return groups_++;
  }

  void communicators(const Tables& tables) {
    std::vector<uint64_t> locations(tables.ranks);
    std::iota(locations.begin(), locations.end(), 0);
    group(OTF2_GROUP_TYPE_COMM_LOCATIONS, locations);
    for (uint32_t i = 0; i < tables.groups.size(); ++i) {
      const auto& [members, others] = tables.groups[i];
      const uint32_t first = group(OTF2_GROUP_TYPE_COMM_GROUP, members);
      if (others.empty())
        check(OTF2_GlobalDefWriter_WriteComm(out_, i, text(""), first, OTF2_UNDEFINED_COMM,
                                             OTF2_COMM_FLAG_NONE));
      else
        check(OTF2_GlobalDefWriter_WriteInterComm(out_, i, text(""), first,
                                                  group(OTF2_GROUP_TYPE_COMM_GROUP, others),
                                                  OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    }
  }

  OTF2_GlobalDefWriter* out_;
  Numbers<std::string> strings_;
  uint32_t groups_ = 0;
};

class ArchiveWriter {
 public:
  explicit ArchiveWriter(const std::filesystem::path& anchor) : archive_(nullptr, OTF2_Archive_Close) {
    const std::string folder = anchor.has_parent_path() ? anchor.parent_path().string() : ".";
    archive_.reset(check(OTF2_Archive_Open(folder.c_str(), anchor.stem().c_str(), OTF2_FILEMODE_WRITE,
                                           kEventChunk, OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT,
                                           OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE)));
    static const OTF2_FlushCallbacks kFlush{.otf2_pre_flush = flush, .otf2_post_flush = nullptr};
    check(OTF2_Archive_SetFlushCallbacks(archive_.get(), &kFlush, nullptr));
    check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_.get()));
    check(OTF2_Archive_SetCreator(archive_.get(), "OmniPGAS"));
    check(OTF2_Archive_OpenEvtFiles(archive_.get()));
    check(OTF2_Archive_OpenDefFiles(archive_.get()));
  }

  void write(const RankFile& file, uint32_t rank, Tables& tables) {
    OTF2_EvtWriter* const out = check(OTF2_Archive_GetEvtWriter(archive_.get(), rank));
    RankWriter writer(file, out, tables);
    uint64_t first = 0, last = 0, events = 0;
    for (const auto& thread : file.trace.threads())
      file.trace.for_each_call(thread, [&](const CallView& view) {
        if (first == 0) first = view.call->begin;
        last = view.call->end;
        writer.write(view);
      });
    writer.end();
    check(OTF2_EvtWriter_GetNumberOfEvents(out, &events));
    check(OTF2_Archive_CloseEvtWriter(archive_.get(), out));
    tables.locations.push_back({file.trace.header().host, events});
    OTF2_DefWriter* const definitions = check(OTF2_Archive_GetDefWriter(archive_.get(), rank));
    for (const uint64_t local : {first, last}) {
      const int64_t reference = file.trace.reference_ns(local);
      tables.begin = std::min(tables.begin, reference);
      tables.end = std::max(tables.end, reference);
      check(OTF2_DefWriter_WriteClockOffset(definitions, local, reference - static_cast<int64_t>(local),
                                            0));
      if (first == last) break;
    }
    check(OTF2_Archive_CloseDefWriter(archive_.get(), definitions));
  }

  void finish(const Tables& tables) {
    check(OTF2_Archive_CloseEvtFiles(archive_.get()));
    check(OTF2_Archive_CloseDefFiles(archive_.get()));
    OTF2_GlobalDefWriter* const out = check(OTF2_Archive_GetGlobalDefWriter(archive_.get()));
    DefinitionWriter(out).write(tables);
    check(OTF2_Archive_CloseGlobalDefWriter(archive_.get(), out));
    check(OTF2_Archive_Close(archive_.release()));
  }

 private:
  static OTF2_FlushType flush(void* /*data*/, OTF2_FileType /*type*/, OTF2_LocationRef /*location*/,
                              void* /*caller*/, bool /*final*/) {
    return OTF2_FLUSH;
  }

  std::unique_ptr<OTF2_Archive, OTF2_ErrorCode (*)(OTF2_Archive*)> archive_;
};

}  // namespace
}  // namespace otf2

Otf2Losses write_otf2(const std::string& recording, const std::string& anchor) {
  if (!anchor.ends_with(".otf2")) refuse("{}: an OTF2 archive is named NAME.otf2", anchor);
  for (const std::string& part : otf2::parts_of(anchor)) {
    if (std::filesystem::exists(part)) refuse("{}: it is there already; remove it", part);
  }
  otf2::keep_errors();
  try {
    otf2::Tables tables;
    const auto paths = trace::rank_files(recording);
    tables.ranks = static_cast<uint32_t>(paths.size());
    const otf2::Draft draft(anchor);
    otf2::ArchiveWriter archive(draft.anchor());
    for (uint32_t rank = 0; rank < tables.ranks; ++rank) {
      RankFile file(paths[rank]);
      file.place(recording, rank, tables.ranks, tables.communicators);
      if (const std::size_t threads = file.trace.threads().size(); threads > 1)
        refuse("{}: {} threads of this rank called MPI; archives are written of ranks of one",
               paths[rank].string(), threads);
      archive.write(file, rank, tables);
    }
    archive.finish(tables);
    draft.put_in_place();
    return tables.losses;
  } catch (const trace::TraceError& error) {
    refuse("{}", error.what());
  }
}

}  // namespace ompl::model
