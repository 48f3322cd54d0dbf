// SPDX-License-Identifier: BSD-3-Clause
// The interposer's part for coll.h: teams are communicators, and collectives have the kinds of MPI's. A persistent one is opaque.
#include <omnipgas/coll.h>

#include <mutex>

#include "call.hpp"
#include "writer/handles.hpp"
#include "writer/memory.hpp"

namespace ompl::trace {

namespace {

constexpr std::size_t kMostTeams = 4096;
constexpr std::size_t kMostRequests = 1 << 14;  // under way at once; a further one is not waited for
constexpr std::size_t kMostOperations = 1 << 13;
constexpr uint16_t kToPosting = 40;  // from a collective's number to that of its nonblocking form

struct Team {
  uint32_t id;
  uint32_t size;
  uint32_t rank;
};
struct SameMembers {
  uint64_t members;  // a hash
  uint64_t count;
};

HandleTable<Team, kMostTeams> teams;
HandleTable<uint32_t, kMostRequests> requests;
HandleTable<std::size_t, kMostOperations> elements;  // bytes of one, by the operation
SameMembers same_members[kMostTeams];
uint32_t next_team = 2;  // 1 is that of all ranks

constexpr uint64_t mix(uint64_t a, uint64_t b) {
  const uint64_t value = (a ^ (b + 0x9e3779b97f4a7c15U)) * 0xbf58476d1ce4e5b9U;
  return value ^ (value >> 31);
}

uint64_t key_of(const void* handle) { return reinterpret_cast<uint64_t>(handle); }
uint64_t key_of(int32_t op) {
  return uint64_t{static_cast<uint32_t>(op)} + 2;
}  // neither none nor erased

// How many teams of these members this rank has made. They all make them in one order, so they count alike.
uint64_t ordinal(uint64_t members) {
  for (std::size_t i = 0; i < kMostTeams; ++i) {
    SameMembers& entry = same_members[(members + i) % kMostTeams];
    if (entry.count != 0 && entry.members != members) continue;
    entry.members = members;
    return entry.count++;
  }
  return 0;
}

uint32_t member(const ompl_team* team, std::size_t i) {
  return static_cast<uint32_t>(OMPL_REAL(ompl_team_world_rank)(team, static_cast<uint32_t>(i)));
}

uint32_t define(ompl_team* team, Kind made_by) {
  const Team asked{0, static_cast<uint32_t>(OMPL_REAL(ompl_team_size)(team)),
                   static_cast<uint32_t>(OMPL_REAL(ompl_team_rank)(team))};
  uint64_t members = asked.size;
  for (uint32_t i = 0; i < asked.size; ++i) members = mix(members, member(team, i));
  const std::lock_guard lock(tracer.mutex);
  Team known = asked;
  known.id = next_team++;
  CommunicatorDefinition definition{};
  definition.global = mix(members, ordinal(members)) | (uint64_t{1} << 63);
  definition.id = known.id;
  definition.size = known.size;
  definition.rank = known.rank;
  definition.parent = 1;
  definition.members = static_cast<uint32_t>((known.size + Ids::kMost - 1) / Ids::kMost);
  definition.kind = Kind::kCommunicator;
  definition.made_by = made_by;
  tracer.definitions.append(definition);
  in_parts<Ids>(
      known.size, [&](std::size_t i) { return member(team, i); },
      [](const Ids& part) { tracer.definitions.append(part); });
  teams.insert(key_of(team), known);
  return known.id;
}

const Team* team_of(const ompl_team* team) {
  return team != nullptr && tracer.recording() ? teams.find(key_of(team)) : nullptr;
}

uint64_t bytes_of(std::size_t count, int32_t type, int32_t op) {
  constexpr std::size_t kBytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16};
  if (type >= 0 && type < OMPL_ELEMENT) return count * kBytes[type];
  const std::size_t* const element = tracer.recording() ? elements.find(key_of(op)) : nullptr;
  return element != nullptr ? count * *element : 0;
}

uint64_t total(const std::size_t* lengths, const Team* team) {
  uint64_t sum = 0;
  for (uint32_t i = 0; lengths != nullptr && team != nullptr && i < team->size; ++i) sum += lengths[i];
  return sum;
}

// What each member sends or receives, by the lists of the call; null: there is none.
struct Lists {
  const std::size_t* sent = nullptr;
  const std::size_t* received = nullptr;
};

void append_lists(Call& call, const Team& team, const Lists& lists) {
  if (lists.sent != nullptr)
    call.append_counts(false, team.size, [&](std::size_t i) { return lists.sent[i]; });
  if (lists.received != nullptr)
    call.append_counts(true, team.size, [&](std::size_t i) { return lists.received[i]; });
}

void keep(const ompl_request* request, uint32_t id) {
  const std::lock_guard lock(tracer.mutex);
  requests.insert(key_of(request), id);
}

template <typename Function>
int unknown(const char* name, void* caller, const Function& real) {
  Call call(Kind::kOpaque, caller, {});
  const int code = call.run(real);
  if (call.is_recorded()) call.record().request = tracer.define_text(name);
  call.append();
  return code;
}

template <typename Function>
int collective(Kind kind, void* caller, const ompl_team* team, const Fields& fields, const Lists& lists,
               const ompl_coll_options* options, ompl_request** request, const Function& real) {
  const Team* const known = team_of(team);
  if (options != nullptr && options->persistent != 0)
    return unknown("a persistent collective", caller, real);
  if (request != nullptr) kind = static_cast<Kind>(static_cast<uint16_t>(kind) + kToPosting);
  Call call(kind, caller, fields);
  const int code = call.run(real);
  if (known != nullptr) call.record().comm = known->id;
  if (request != nullptr && code == OMPL_OK && call.is_recorded())
    keep(*request, call.take_request_id());
  call.append();
  if (known != nullptr) append_lists(call, *known, lists);
  return code;
}

// A request under way, of which the id is looked up before a wait ends it.
class Waited {
 public:
  explicit Waited(ompl_request* const* request)
      : request_(request), id_(find(request != nullptr ? *request : nullptr)) {}
  // The id if the request is over, else 0.
  uint32_t over() {
    if (id_ == nullptr || *request_ != nullptr) return 0;
    const uint32_t id = *id_;
    const std::lock_guard lock(tracer.mutex);
    requests.erase(id_);
    id_ = nullptr;
    return id;
  }

 private:
  static const uint32_t* find(const ompl_request* request) {
    return request != nullptr && tracer.recording() ? requests.find(key_of(request)) : nullptr;
  }
  ompl_request* const* request_;
  const uint32_t* id_;
};

template <typename Function>
int made_team(Kind kind, void* caller, const ompl_team* parent, ompl_team** team,
              const Function& real) {
  const Team* const known = team_of(parent);
  Call call(kind, caller, {});
  const int code = call.run(real);
  if (known != nullptr) call.record().comm = known->id;
  if (code == OMPL_OK && *team != nullptr && call.is_recorded())
    call.record().request = define(*team, kind);
  call.append();
  return code;
}

}  // namespace

bool create_team_tables() { return teams.create() && requests.create() && elements.create(); }

}  // namespace ompl::trace

using namespace ompl::trace;  // NOLINT(google-build-using-namespace)

// The rest of the arguments: what is recorded, as Fields.
#define OMPL_COLLECTIVE(kind, function, arguments, lists, ...)                                    \
  return collective(Kind::kind, __builtin_return_address(0), team, {__VA_ARGS__}, lists, options, \
                    request, [&] { return OMPL_REAL(function) arguments; })

extern "C" {

// The first call is collective, the others are local.
int ompl_team_world(ompl_team** team) {
  Call call(Kind::kOmplBarrier, __builtin_return_address(0), {});
  const int code = call.run([&] { return OMPL_REAL(ompl_team_world)(team); });
  if (code != OMPL_OK || !call.is_recorded()) return code;
  {
    const std::lock_guard lock(tracer.mutex);
    if (teams.find(key_of(*team)) != nullptr) return code;
    const FileHeader& header = tracer.file.header();
    teams.insert(key_of(*team), {1, header.ranks, header.rank});
  }
  call.append();
  return code;
}
int ompl_team_create(const uint32_t* ranks, size_t count, const ompl_team_config* config,
                     ompl_team** team) {
  return made_team(Kind::kCommCreateGroup, __builtin_return_address(0), nullptr, team,
                   [&] { return OMPL_REAL(ompl_team_create)(ranks, count, config, team); });
}
int ompl_team_split(ompl_team* parent, int32_t color, int32_t key, const ompl_team_config* config,
                    ompl_team** team) {
  return made_team(Kind::kCommSplit, __builtin_return_address(0), parent, team,
                   [&] { return OMPL_REAL(ompl_team_split)(parent, color, key, config, team); });
}
int ompl_team_destroy(ompl_team* team) {
  const Team* const known = team_of(team);
  Call call(Kind::kCommFree, __builtin_return_address(0), {});
  if (known != nullptr) call.record().comm = known->id;
  if (known != nullptr) {
    const std::lock_guard lock(tracer.mutex);
    teams.erase(known);
  }
  const int code = call.run([&] { return OMPL_REAL(ompl_team_destroy)(team); });
  call.append();
  return code;
}

int ompl_op_create(const ompl_op_config* config, int32_t* op) {
  const int code = OMPL_REAL(ompl_op_create)(config, op);
  if (code != OMPL_OK || !tracer.recording()) return code;
  const std::lock_guard lock(tracer.mutex);
  elements.insert(key_of(*op), config->element);
  return code;
}

int ompl_request_start(ompl_ctx* ctx, ompl_request* request) {
  return unknown("ompl_request_start", __builtin_return_address(0),
                 [&] { return OMPL_REAL(ompl_request_start)(ctx, request); });
}
int ompl_request_test(ompl_ctx* ctx, ompl_request** request) {
  Waited waited(request);
  Call call(Kind::kTest, __builtin_return_address(0), {});
  return call.look([&] {
    const int code = OMPL_REAL(ompl_request_test)(ctx, request);
    if (code == 1) call.record().request = waited.over();
    return code;
  });
}
// A time limit that passes makes it a test that found nothing.
int ompl_request_wait(ompl_ctx* ctx, ompl_request** request, int64_t timeout_ns) {
  Waited waited(request);
  Call call(Kind::kWait, __builtin_return_address(0), {});
  const int code = call.run([&] { return OMPL_REAL(ompl_request_wait)(ctx, request, timeout_ns); });
  call.record().request = waited.over();
  if (code != OMPL_ERR_TIMEOUT) {
    call.append();
    return code;
  }
  call.record().kind = Kind::kTest;
  call.record().flags &= static_cast<uint16_t>(~kFailed);
  call.append_idle();
  return code;
}
int ompl_request_wait_all(ompl_ctx* ctx, ompl_request** list, size_t count, int64_t timeout_ns) {
  auto* const ids = map_zeroed<uint32_t>(count + 1);
  Call call(Kind::kWaitall, __builtin_return_address(0), {});
  for (size_t i = 0; ids != nullptr && call.is_recorded() && i < count; ++i) {
    const uint32_t* const id = list[i] != nullptr ? requests.find(key_of(list[i])) : nullptr;
    if (id == nullptr) continue;
    ids[i] = *id;
    const std::lock_guard lock(tracer.mutex);
    requests.erase(id);
  }
  const int code =
      call.run([&] { return OMPL_REAL(ompl_request_wait_all)(ctx, list, count, timeout_ns); });
  call.record().flags |= kSeveral;
  call.record().bytes = ids != nullptr ? count : 0;
  call.append();
  if (ids != nullptr) call.append_ids(count, [&](size_t i) { return ids[i]; });
  unmap(ids, count + 1);
  return code;
}

int ompl_team_barrier(ompl_team* team, const ompl_coll_options* options, ompl_request** request) {
  OMPL_COLLECTIVE(kBarrier, ompl_team_barrier, (team, options, request), {}, );
}
int ompl_broadcast(ompl_team* team, void* buffer, size_t length, uint32_t root,
                   const ompl_coll_options* options, ompl_request** request) {
  OMPL_COLLECTIVE(kBcast, ompl_broadcast, (team, buffer, length, root, options, request), {},
                  static_cast<int32_t>(root), length);
}
int ompl_reduce(ompl_team* team, const void* send, void* receive, size_t count, int32_t type,
                int32_t op, uint32_t root, const ompl_coll_options* options, ompl_request** request) {
  OMPL_COLLECTIVE(kReduce, ompl_reduce, (team, send, receive, count, type, op, root, options, request),
                  {}, static_cast<int32_t>(root), bytes_of(count, type, op));
}
int ompl_allreduce(ompl_team* team, const void* send, void* receive, size_t count, int32_t type,
                   int32_t op, const ompl_coll_options* options, ompl_request** request) {
  OMPL_COLLECTIVE(kAllreduce, ompl_allreduce, (team, send, receive, count, type, op, options, request),
                  {}, .bytes = bytes_of(count, type, op));
}
int ompl_allgather(ompl_team* team, const void* send, void* receive, size_t length,
                   const ompl_coll_options* options, ompl_request** request) {
  OMPL_COLLECTIVE(kAllgather, ompl_allgather, (team, send, receive, length, options, request), {},
                  .bytes = length);
}
int ompl_allgatherv(ompl_team* team, const void* send, void* receive, const size_t* lengths,
                    const size_t* offsets, const ompl_coll_options* options, ompl_request** request) {
  const Team* const known = team_of(team);
  const size_t own = known != nullptr ? lengths[known->rank] : 0;
  OMPL_COLLECTIVE(kAllgatherv, ompl_allgatherv,
                  (team, send, receive, lengths, offsets, options, request), (Lists{nullptr, lengths}),
                  .bytes = own);
}
int ompl_gather(ompl_team* team, const void* send, void* receive, size_t length, uint32_t root,
                const ompl_coll_options* options, ompl_request** request) {
  OMPL_COLLECTIVE(kGather, ompl_gather, (team, send, receive, length, root, options, request), {},
                  static_cast<int32_t>(root), length);
}
int ompl_gatherv(ompl_team* team, const void* send, size_t length, void* receive, const size_t* lengths,
                 const size_t* offsets, uint32_t root, const ompl_coll_options* options,
                 ompl_request** request) {
  const Team* const known = team_of(team);
  const bool here = known != nullptr && known->rank == root;
  OMPL_COLLECTIVE(kGatherv, ompl_gatherv,
                  (team, send, length, receive, lengths, offsets, root, options, request),
                  (Lists{nullptr, here ? lengths : nullptr}), static_cast<int32_t>(root), length);
}
int ompl_scatter(ompl_team* team, const void* send, void* receive, size_t length, uint32_t root,
                 const ompl_coll_options* options, ompl_request** request) {
  OMPL_COLLECTIVE(kScatter, ompl_scatter, (team, send, receive, length, root, options, request), {},
                  static_cast<int32_t>(root), length);
}
int ompl_scatterv(ompl_team* team, const void* send, const size_t* lengths, const size_t* offsets,
                  void* receive, size_t length, uint32_t root, const ompl_coll_options* options,
                  ompl_request** request) {
  const Team* const known = team_of(team);
  const size_t* const here = known != nullptr && known->rank == root ? lengths : nullptr;
  OMPL_COLLECTIVE(kScatterv, ompl_scatterv,
                  (team, send, lengths, offsets, receive, length, root, options, request),
                  (Lists{here, nullptr}), static_cast<int32_t>(root), total(here, known));
}
int ompl_alltoall(ompl_team* team, const void* send, void* receive, size_t length,
                  const ompl_coll_options* options, ompl_request** request) {
  OMPL_COLLECTIVE(kAlltoall, ompl_alltoall, (team, send, receive, length, options, request), {},
                  .bytes = length);
}
int ompl_alltoallv(ompl_team* team, const void* send, const size_t* send_lengths,
                   const size_t* send_offsets, void* receive, const size_t* receive_lengths,
                   const size_t* receive_offsets, const ompl_coll_options* options,
                   ompl_request** request) {
  const size_t* const sent = send == OMPL_IN_PLACE ? receive_lengths : send_lengths;
  OMPL_COLLECTIVE(kAlltoallv, ompl_alltoallv,
                  (team, send, send_lengths, send_offsets, receive, receive_lengths, receive_offsets,
                   options, request),
                  (Lists{sent, receive_lengths}), .bytes = total(sent, team_of(team)));
}
int ompl_reduce_scatter(ompl_team* team, const void* send, void* receive, size_t count, int32_t type,
                        int32_t op, const ompl_coll_options* options, ompl_request** request) {
  OMPL_COLLECTIVE(kReduceScatterBlock, ompl_reduce_scatter,
                  (team, send, receive, count, type, op, options, request), {},
                  .bytes = bytes_of(count, type, op));
}
int ompl_scan(ompl_team* team, const void* send, void* receive, size_t count, int32_t type, int32_t op,
              const ompl_coll_options* options, ompl_request** request) {
  OMPL_COLLECTIVE(kScan, ompl_scan, (team, send, receive, count, type, op, options, request), {},
                  .bytes = bytes_of(count, type, op));
}
int ompl_exscan(ompl_team* team, const void* send, void* receive, size_t count, int32_t type,
                int32_t op, const ompl_coll_options* options, ompl_request** request) {
  OMPL_COLLECTIVE(kExscan, ompl_exscan, (team, send, receive, count, type, op, options, request), {},
                  .bytes = bytes_of(count, type, op));
}

}  // extern "C"
