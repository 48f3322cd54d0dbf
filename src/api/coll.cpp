// SPDX-License-Identifier: BSD-3-Clause
// The collectives and requests of coll.h: arguments are checked and become a CollectiveCall, which the queue of its tag carries out.
#include "omnipgas/coll.h"

#include <new>
#include <utility>

#include "api/call.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/engine.hpp"
#include "core/data/checks.hpp"
#include "core/data/operations.hpp"
#include "core/wait/block.hpp"

using ompl::Context;
using ompl::Deadline;
using ompl::fail;
using ompl::api::team_of;
using ompl::api::with;
using ompl::coll::CollectiveCall;
using ompl::coll::CollectiveRequest;
using ompl::coll::Engine;
using ompl::coll::ReductionOperation;
using ompl::coll::TagQueue;
using ompl::coll::Team;

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 40;
constexpr ompl_coll_options kDefaults = OMPL_COLL_OPTIONS_INIT;

// Lengths and offsets of a block for each member; without offsets they stand one behind the other. Null: there are none.
struct Lists {
  const std::size_t* lengths = nullptr;
  const std::size_t* offsets = nullptr;
};

// What a function was given, beside the CollectiveCall that it fills.
struct Given {
  const char* name;
  Team* team;
  const ompl_coll_options* options;
  ompl_request** request;
  const void* send = nullptr;
  void* receive = nullptr;
  int32_t type = OMPL_UINT8;  // of a reduction
  int32_t op = -1;            // -1: none
  Lists sent{};
  Lists received{};
};

// While it lives, the progress thread leaves the tag queue to this thread.
class Attendance {
 public:
  Attendance(TagQueue& queue, CollectiveRequest& request)
      : queue_(ompl::coll::has_progress_thread(queue.progress()) || queue.team().offloads() ? &queue
                                                                                            : nullptr),
        request_(request) {
    if (queue_ != nullptr) queue_->attend(request_);
  }
  ~Attendance() {
    if (queue_ != nullptr) queue_->leave(request_);
  }
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

 private:
  TagQueue* const queue_;
  CollectiveRequest& request_;
};

// Waits for a collective that runs: OMPL_OK if it is over. The death of a member ends it, others' are no matter.
int await(Context& c, CollectiveRequest& request, int64_t timeout_ns) {
  Engine& engine = request.queue->team().engine();
  const ompl::Blocked what{.call = ompl::Call::collective, .own_end = true};
  ompl::Blocker blocker(c, what, Deadline::in(timeout_ns));
  const Attendance attendance(*request.queue, request);
  bool again = false;
  return blocker.run([&] {
    again = false;
    engine.drive(blocker.context(), *request.queue, &again);
    if (!request.runs()) return 1;
    if (again) blocker.stay_awake();
    return 0;
  });
}

// Waits for a blocking call's. One that cannot end takes its team with it, and then it does.
int finish(Context& c, CollectiveRequest& request, int64_t timeout_ns) {
  TagQueue& queue = *request.queue;
  ompl::Caller caller(c);
  int code = await(c, request, timeout_ns);
  if (code != OMPL_OK) {
    queue.team().break_up(code, ompl::error_detail());
    while (request.runs()) {
      bool again = false;
      queue.drive(caller.now(), &again);
    }
  }
  if (code == OMPL_OK) code = TagQueue::outcome(request);
  queue.recycle(&request);
  return code;
}

int check(const Given& given, const ompl_coll_options& options) {
  if (given.team == nullptr) return fail(OMPL_ERR_ARG, "{}: the team is null", given.name);
  if (options.size != sizeof options)
    return fail(OMPL_ERR_ARG, "{}: begin the options with OMPL_COLL_OPTIONS_INIT", given.name);
  if (options.tag >= given.team->layout().tags)
    return fail(OMPL_ERR_ARG, "{}: the team has tags 0 to {}, not {}; see ompl_team_config", given.name,
                given.team->layout().tags - 1, options.tag);
  if (options.persistent != 0 && given.request == nullptr)
    return fail(OMPL_ERR_ARG, "{}: a persistent collective needs a place for its request", given.name);
  return OMPL_OK;
}

// The operation of a reduction; its element goes into the call.
int read_operation(const Given& given, CollectiveCall& call, ReductionOperation* operation) {
  if (!ompl::coll::is_reduction(call.collective)) return OMPL_OK;
  if (given.type == OMPL_ELEMENT) {
    const ReductionOperation* const own = given.team->engine().operation(given.op);
    if (own == nullptr)
      return fail(OMPL_ERR_ARG, "{}: {} is no operation that ompl_op_create() has made", given.name,
                  given.op);
    *operation = *own;
  } else {
    operation->kernel = ompl::coll::kernel_of(given.type, given.op, &operation->element);
    operation->type = given.type;
    operation->number = given.op;
    if (operation->kernel == nullptr)
      return fail(OMPL_ERR_ARG, "{}: there is no operation {} of type {}", given.name, given.op,
                  given.type);
  }
  call.element = operation->element;
  call.commutative = operation->commutative;
  call.most_combined = given.team->layout().room();
  if (call.length > kMostBytes / call.element)
    return fail(OMPL_ERR_LENGTH, "{}: {} elements are more than 2^40 bytes", given.name, call.length);
  call.length *= call.element;
  return OMPL_OK;
}

int check(const Given& given, const CollectiveCall& call) {
  if (call.root >= call.size)
    return fail(OMPL_ERR_RANK, "{}: the team has members 0 to {}; {} cannot be the root", given.name,
                call.size - 1, call.root);
  if (call.length > kMostBytes)
    return fail(OMPL_ERR_LENGTH, "{}: {} bytes are more than 2^40", given.name, call.length);
  for (const auto* blocks : {&call.sent, &call.received})
    for (const std::size_t length : blocks->lengths)
      if (length > kMostBytes)
        return fail(OMPL_ERR_LENGTH, "{}: {} bytes are more than 2^40", given.name, length);
  const bool empty = call.length == 0 && !call.listed;
  if (!empty && given.send == nullptr && given.receive == nullptr)
    return fail(OMPL_ERR_ARG, "{}: the buffers are null", given.name);
  return OMPL_OK;
}

ompl::coll::Blocks listed(const Lists& lists, uint32_t members) {
  ompl::coll::Blocks blocks;
  if (lists.lengths == nullptr) return blocks;
  blocks.lengths.assign(lists.lengths, lists.lengths + members);
  if (lists.offsets != nullptr) {
    blocks.offsets.assign(lists.offsets, lists.offsets + members);
    return blocks;
  }
  std::size_t at = 0;
  for (const std::size_t length : blocks.lengths) {
    blocks.offsets.push_back(at);
    at += length;
  }
  return blocks;
}

// Makes the request for a call.
int make(const Given& given, const ompl_coll_options& options, CollectiveCall call,
         CollectiveRequest** made) {
  Team& team = *given.team;
  call.me = team.me();
  call.size = team.size();
  call.algorithm = options.algorithm;
  call.nodes = &team.nodes();
  call.modes = given.request != nullptr && team.engine().tunes_modes();
  call.sent = listed(given.sent, call.size);
  call.received = listed(given.received, call.size);
  ReductionOperation operation;
  if (const int code = read_operation(given, call, &operation); code != OMPL_OK) return code;
  if (const int code = check(given, call); code != OMPL_OK) return code;
  if (team.broken() != OMPL_OK) return ompl::fail_quietly(team.broken(), team.why_broken());
  TagQueue& queue = team.queue(options.tag);
  auto prepared = queue.prepare(call);
  if (prepared == nullptr)
    return fail(
        OMPL_ERR_UNSUPPORTED,
        "{}: there is no algorithm {}, or it does not take lists, or does not keep the members' "
        "order, which the operation needs",
        given.name, options.algorithm);
  CollectiveRequest* const request = queue.fresh();
  request->prepared = std::move(prepared);
  request->send = static_cast<std::byte*>(const_cast<void*>(given.send));
  request->receive = static_cast<std::byte*>(given.receive);
  request->operation = operation;
  request->persistent = options.persistent != 0;
  request->in_background = given.request != nullptr;
  request->exchange = nullptr;
  if (team.engine().checks() && team.size() > 1) {
    request->exchange = queue.prepare(ompl::coll::exchange_of_signatures(call));
    request->signature = ompl::coll::signature_of(call, given.type, given.op);
  }
  *made = request;
  return OMPL_OK;
}

// Calls what makes a member take part in a collective. Without memory for that it cannot, and the others must not wait for it.
template <class Begin>
int begin_or_leave(Context& c, Team& team, Begin begin) {
  try {
    return begin();
  } catch (const std::bad_alloc&) {
    team.leave(c);
    return ompl::fail_quietly(OMPL_ERR_MEMORY, team.why_broken());
  }
}

// Does what can be done at once of what has been started, and wakes who goes on with it, or does it all.
int set_going(Context& c, CollectiveRequest& request) {
  bool again = false;
  if (!request.queue->is_left_to_thread(request)) request.queue->drive(c, &again);
  request.queue->notify(request);
  return OMPL_OK;
}

// Collectives read and write the buffers with the CPU.
int check_memory(const Context& c, const Given& given) {
  for (const void* const buffer : {given.send, static_cast<const void*>(given.receive)}) {
    if (buffer == nullptr || buffer == OMPL_IN_PLACE) continue;
    if (const int code = ompl::check_host(*c.runtime, buffer, given.name); code != OMPL_OK) return code;
  }
  return OMPL_OK;
}

// Starts, or makes, what was asked for, and waits for it if there is no request to give back.
int carry_out(const Given& given, const CollectiveCall& call) {
  const ompl_coll_options& options = given.options != nullptr ? *given.options : kDefaults;
  return with(options.ctx, [&](Context& c) {
    if (const int code = check(given, options); code != OMPL_OK) return code;
    if (const int code = check_memory(c, given); code != OMPL_OK) return code;
    Team& team = *given.team;
    CollectiveRequest* request = nullptr;
    if (options.persistent != 0) {
      if (const int code = make(given, options, call, &request); code != OMPL_OK) return code;
      team.persistent.fetch_add(1);
      *given.request = reinterpret_cast<ompl_request*>(request);
      return static_cast<int>(OMPL_OK);
    }
    const int code = begin_or_leave(c, team, [&] {
      const int made = make(given, options, call, &request);
      if (made == OMPL_OK) request->queue->start(request);
      return made;
    });
    if (code != OMPL_OK) return code;
    if (given.request == nullptr) return finish(c, *request, options.timeout_ns);
    *given.request = reinterpret_cast<ompl_request*>(request);
    return set_going(c, *request);
  });
}

bool in_place(const void* buffer) { return buffer == OMPL_IN_PLACE; }

int no_lists(const char* name) { return fail(OMPL_ERR_ARG, "{}: the team or a list is null", name); }

// Takes the caller's request away once the collective is over.
int over(ompl_request** place) {
  auto* const request = reinterpret_cast<CollectiveRequest*>(*place);
  TagQueue::note_end(*request);
  const int code = TagQueue::outcome(*request);
  if (request->persistent) return code;
  *place = nullptr;
  request->queue->recycle(request);
  return code;
}

}  // namespace

extern "C" {

int ompl_request_start(ompl_ctx* ctx, ompl_request* request) {
  return with(ctx, [=](Context& c) {
    auto* const r = reinterpret_cast<CollectiveRequest*>(request);
    if (r == nullptr || !r->persistent)
      return fail(OMPL_ERR_ARG, "ompl_request_start: the request is null or not persistent");
    if (r->runs())
      return fail(OMPL_ERR_STATE, "ompl_request_start: the collective is under way; wait for it first");
    Team& team = r->queue->team();
    if (team.broken() != OMPL_OK) return ompl::fail_quietly(team.broken(), team.why_broken());
    const int code = begin_or_leave(c, team, [&] {
      r->queue->start(r);
      return static_cast<int>(OMPL_OK);
    });
    if (code != OMPL_OK) return code;
    return set_going(c, *r);
  });
}

int ompl_request_test(ompl_ctx* ctx, ompl_request** request) {
  return with(ctx, [=](Context& c) {
    if (request == nullptr) return fail(OMPL_ERR_ARG, "ompl_request_test: the pointer is null");
    if (*request == nullptr) return 1;
    auto* const r = reinterpret_cast<CollectiveRequest*>(*request);
    if (r->runs()) {
      bool again = false;
      ompl::drive(c);
      c.runtime->failures.look_for_deaths();
      r->queue->team().engine().drive(c, *r->queue, &again);
      if (r->runs()) return 0;
    }
    const int code = over(request);
    return code == OMPL_OK ? 1 : code;
  });
}

int ompl_request_wait(ompl_ctx* ctx, ompl_request** request, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    if (request == nullptr) return fail(OMPL_ERR_ARG, "ompl_request_wait: the pointer is null");
    if (*request == nullptr) return static_cast<int>(OMPL_OK);
    auto* const r = reinterpret_cast<CollectiveRequest*>(*request);
    const int code = r->runs() ? await(c, *r, timeout_ns) : OMPL_OK;
    return r->runs() ? code : over(request);
  });
}

int ompl_request_wait_all(ompl_ctx* ctx, ompl_request** requests, size_t count, int64_t timeout_ns) {
  if (requests == nullptr && count > 0)
    return fail(OMPL_ERR_ARG, "ompl_request_wait_all: the list is null");
  const Deadline deadline = Deadline::in(timeout_ns);
  int first = OMPL_OK;
  for (size_t i = 0; i < count; ++i) {
    const int64_t left =
        deadline.finite() ? deadline.remaining(std::chrono::nanoseconds::max()).count() : timeout_ns;
    const int code = ompl_request_wait(ctx, &requests[i], left);
    if (code == OMPL_ERR_TIMEOUT) return code;
    if (first == OMPL_OK) first = code;
  }
  return first;
}

int ompl_request_then(ompl_request** request, void (*callback)(void* arg, int code), void* arg) {
  return with(nullptr, [=](Context& c) {
    if (request == nullptr || *request == nullptr || callback == nullptr)
      return fail(OMPL_ERR_ARG, "ompl_request_then: the {} is null",
                  callback == nullptr ? "callback" : "request");
    auto* const r = reinterpret_cast<CollectiveRequest*>(*request);
    const bool stays = r->persistent;  // afterwards the request may be gone
    const int code = r->queue->team().engine().call_back(*r, callback, arg);
    if (code == OMPL_OK && !stays) *request = nullptr;
    if (code == OMPL_OK) c.runtime->sleepers.wake_own_completions();
    return code;
  });
}

int ompl_request_free(ompl_request** request) {
  if (request == nullptr || *request == nullptr) return OMPL_OK;
  auto* const r = reinterpret_cast<CollectiveRequest*>(*request);
  if (!r->persistent)
    return fail(OMPL_ERR_ARG, "ompl_request_free: not persistent; wait for it instead");
  if (r->runs())
    return fail(OMPL_ERR_STATE, "ompl_request_free: the collective is under way; wait for it first");
  r->queue->team().persistent.fetch_sub(1);
  r->queue->recycle(r);
  *request = nullptr;
  return OMPL_OK;
}

int ompl_team_barrier(ompl_team* team, const ompl_coll_options* options, ompl_request** request) {
  return carry_out({"ompl_team_barrier", team_of(team), options, request},
                   {.collective = OMPL_BARRIER});
}

int ompl_broadcast(ompl_team* team, void* buffer, size_t length, uint32_t root,
                   const ompl_coll_options* options, ompl_request** request) {
  return carry_out({.name = "ompl_broadcast",
                    .team = team_of(team),
                    .options = options,
                    .request = request,
                    .receive = buffer},
                   {.collective = OMPL_BROADCAST, .root = root, .length = length});
}

int ompl_reduce(ompl_team* team, const void* send, void* receive, size_t count, int32_t type,
                int32_t op, uint32_t root, const ompl_coll_options* options, ompl_request** request) {
  return carry_out(
      {"ompl_reduce", team_of(team), options, request, send, receive, type, op},
      {.collective = OMPL_REDUCE, .root = root, .in_place = in_place(send), .length = count});
}

int ompl_allreduce(ompl_team* team, const void* send, void* receive, size_t count, int32_t type,
                   int32_t op, const ompl_coll_options* options, ompl_request** request) {
  return carry_out({"ompl_allreduce", team_of(team), options, request, send, receive, type, op},
                   {.collective = OMPL_ALLREDUCE, .in_place = in_place(send), .length = count});
}

int ompl_allgather(ompl_team* team, const void* send, void* receive, size_t length,
                   const ompl_coll_options* options, ompl_request** request) {
  return carry_out({"ompl_allgather", team_of(team), options, request, send, receive},
                   {.collective = OMPL_ALLGATHER, .in_place = in_place(send), .length = length});
}

int ompl_allgatherv(ompl_team* team, const void* send, void* receive, const size_t* lengths,
                    const size_t* offsets, const ompl_coll_options* options, ompl_request** request) {
  if (team == nullptr || lengths == nullptr) return no_lists("ompl_allgatherv");
  Given given{"ompl_allgatherv", team_of(team), options, request, send, receive};
  given.received = {lengths, offsets};
  return carry_out(given, {.collective = OMPL_ALLGATHER, .in_place = in_place(send), .listed = true});
}

int ompl_gather(ompl_team* team, const void* send, void* receive, size_t length, uint32_t root,
                const ompl_coll_options* options, ompl_request** request) {
  return carry_out(
      {"ompl_gather", team_of(team), options, request, send, receive},
      {.collective = OMPL_GATHER, .root = root, .in_place = in_place(send), .length = length});
}

int ompl_gatherv(ompl_team* team, const void* send, size_t length, void* receive, const size_t* lengths,
                 const size_t* offsets, uint32_t root, const ompl_coll_options* options,
                 ompl_request** request) {
  const bool at_root = team != nullptr && team_of(team)->me() == root;
  if (team == nullptr || (at_root && lengths == nullptr)) return no_lists("ompl_gatherv");
  Given given{"ompl_gatherv", team_of(team), options, request, send, receive};
  if (at_root) given.received = {lengths, offsets};
  return carry_out(given, {.collective = OMPL_GATHER,
                           .root = root,
                           .in_place = in_place(send),
                           .listed = true,
                           .length = length});
}

int ompl_scatter(ompl_team* team, const void* send, void* receive, size_t length, uint32_t root,
                 const ompl_coll_options* options, ompl_request** request) {
  return carry_out(
      {"ompl_scatter", team_of(team), options, request, send, receive},
      {.collective = OMPL_SCATTER, .root = root, .in_place = in_place(receive), .length = length});
}

int ompl_scatterv(ompl_team* team, const void* send, const size_t* lengths, const size_t* offsets,
                  void* receive, size_t length, uint32_t root, const ompl_coll_options* options,
                  ompl_request** request) {
  const bool at_root = team != nullptr && team_of(team)->me() == root;
  if (team == nullptr || (at_root && lengths == nullptr)) return no_lists("ompl_scatterv");
  Given given{"ompl_scatterv", team_of(team), options, request, send, receive};
  if (at_root) given.sent = {lengths, offsets};
  return carry_out(given, {.collective = OMPL_SCATTER,
                           .root = root,
                           .in_place = in_place(receive),
                           .listed = true,
                           .length = length});
}

int ompl_alltoall(ompl_team* team, const void* send, void* receive, size_t length,
                  const ompl_coll_options* options, ompl_request** request) {
  return carry_out({"ompl_alltoall", team_of(team), options, request, send, receive},
                   {.collective = OMPL_ALLTOALL, .in_place = in_place(send), .length = length});
}

int ompl_alltoallv(ompl_team* team, const void* send, const size_t* send_lengths,
                   const size_t* send_offsets, void* receive, const size_t* receive_lengths,
                   const size_t* receive_offsets, const ompl_coll_options* options,
                   ompl_request** request) {
  const bool lists = receive_lengths != nullptr && (in_place(send) || send_lengths != nullptr);
  if (team == nullptr || !lists) return no_lists("ompl_alltoallv");
  Given given{"ompl_alltoallv", team_of(team), options, request, send, receive};
  given.received = {receive_lengths, receive_offsets};
  given.sent = in_place(send) ? given.received : Lists{send_lengths, send_offsets};
  return carry_out(given, {.collective = OMPL_ALLTOALL, .in_place = in_place(send), .listed = true});
}

int ompl_reduce_scatter(ompl_team* team, const void* send, void* receive, size_t count, int32_t type,
                        int32_t op, const ompl_coll_options* options, ompl_request** request) {
  return carry_out({"ompl_reduce_scatter", team_of(team), options, request, send, receive, type, op},
                   {.collective = OMPL_REDUCE_SCATTER, .in_place = in_place(send), .length = count});
}

int ompl_scan(ompl_team* team, const void* send, void* receive, size_t count, int32_t type, int32_t op,
              const ompl_coll_options* options, ompl_request** request) {
  return carry_out({"ompl_scan", team_of(team), options, request, send, receive, type, op},
                   {.collective = OMPL_SCAN, .in_place = in_place(send), .length = count});
}

int ompl_exscan(ompl_team* team, const void* send, void* receive, size_t count, int32_t type,
                int32_t op, const ompl_coll_options* options, ompl_request** request) {
  return carry_out({"ompl_exscan", team_of(team), options, request, send, receive, type, op},
                   {.collective = OMPL_EXSCAN, .in_place = in_place(send), .length = count});
}

}  // extern "C"
