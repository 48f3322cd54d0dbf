// SPDX-License-Identifier: BSD-3-Clause
#include "core/calls/calls.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "core/calls/packed_gets.hpp"
#include "core/calls/scope.hpp"
#include "core/data/checks.hpp"
#include "core/data/operations.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl::calls {
namespace {

// In a handle's width: the place of the reply is not given back with it.
constexpr uint32_t kKeepsPlace = 1;

// The 64-bit hash of Fowler, Noll and Vo.
uint64_t hash(std::string_view name) {
  uint64_t value = 0xcbf29ce484222325;
  for (const char letter : name) value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return value;
}

}  // namespace

// What there is once the first function is registered.
struct RemoteCalls::Parts {
  Parts(Runtime& runtime, const Layout& its_layout, uint64_t begin, FunctionTable& functions,
        std::atomic<uint32_t>& unsettled)
      : layout(its_layout),
        replies(layout, runtime.memory.segment().base() + begin),
        outgoing(runtime, layout, begin),
        contexts(runtime, runtime.sleepers, layout, begin, outgoing, unsettled),
        packing(runtime, outgoing),
        gets(runtime, outgoing, layout, begin),
        incoming(runtime, layout, begin, functions, contexts, packing, unsettled) {}

  const Layout layout;
  ReplyTable replies;
  OutgoingCalls outgoing;
  FunctionContexts contexts;
  Packing packing;
  PackedGets gets;
  IncomingCalls incoming;
};

RemoteCalls::~RemoteCalls() { delete parts_.load(); }

// Memory for rings, at the same offset on every rank.
int RemoteCalls::open(Context& c) {
  if (parts_.load() != nullptr) return OMPL_OK;
  const Layout layout(runtime_.size(), runtime_.settings.call_memory);
  uint64_t begin = 0;
  if (const int code = runtime_.collective.alloc(c, layout.bytes(), &begin); code != OMPL_OK)
    return code;
  set_up(layout, begin);
  return OMPL_OK;
}

void RemoteCalls::set_up(const Layout& layout, uint64_t begin) {
  parts_.store(new Parts(runtime_, layout, begin, functions_, unsettled_));
  std::byte* const base = runtime_.memory.segment().base() + begin;
  runtime_.sleepers.call_arrivals.open(
      reinterpret_cast<std::atomic<uint64_t>*>(base + layout.arrivals()), begin + layout.ring(0),
      layout.ring_bytes(), layout.rings(),
      {.count = layout.has_bells() ? runtime_.size() : 0, .ranks_of_mark = layout.ranks_of_mark()});
}

// No barrier: nobody writes there before a collective allocation has told every rank that the others have come so far.
int RemoteCalls::open_early() {
  constexpr std::size_t kMostOfSegment = 64;
  const std::string& how = runtime_.settings.pack;
  if (how == "never" || (how == "auto" && runtime_.network->pool.capabilities().passive_target))
    return OMPL_OK;
  const Layout layout(runtime_.size(), runtime_.settings.call_memory, true);
  if (layout.bytes() > runtime_.memory.segment().capacity() / kMostOfSegment) return OMPL_OK;
  uint64_t begin = 0;
  if (const int code = runtime_.memory.allocate(layout.bytes(), &begin); code != OMPL_OK) {
    return fail(code, "ompl_init: no memory for packed data, which OMPL_PACK=never does without: {}",
                std::string(error_detail()));
  }
  set_up(layout, begin);
  packs_ = true;
  return OMPL_OK;
}

int RemoteCalls::add(Context& context, const char* name, ompl_call_fn code, void* user,
                     uint32_t* function) {
  constexpr const char* kName = "ompl_call_register";
  if (const int may = may_wait(kName); may != OMPL_OK) return may;
  Caller caller(context);
  if (const int opened = open(context); opened != OMPL_OK) return opened;
  const bool usable = name != nullptr && code != nullptr && function != nullptr;
  const uint32_t number = functions_.count();
  const bool added = usable && functions_.add({.name = name, .code = code, .user = user});
  const uint64_t what = usable ? hash(name) : 0;
  CollectiveCalls::Agreement all;
  const int met = runtime_.collective.agree_on_function(caller.now(), what, usable && !added, &all);
  if (met == OMPL_OK && added && all.alike && all.short_of_memory == 0) {
    *function = number;
    return OMPL_OK;
  }
  if (added) functions_.withdraw();
  if (met != OMPL_OK) return met;
  if (!usable)
    return fail(OMPL_ERR_ARG, "{}: the name, the function or the place for its number is null", kName);
  if (!all.alike)
    return fail(OMPL_ERR_ARG,
                "{}: not all ranks register \"{}\", or some call something else; register the same "
                "functions in the same order on "
                "every rank",
                kName, name);
  return fail(OMPL_ERR_MEMORY, "{}: no more than {} functions can be registered", kName,
              int{OMPL_CALL_FUNCTIONS});
}

int RemoteCalls::check(Context& c, uint32_t rank, const ompl_call_request& request,
                       Request* out) const {
  constexpr const char* kName = "ompl_call";
  const auto* const payload =
      reinterpret_cast<const void*>(request.src_addr);  // NOLINT(performance-no-int-to-ptr)
  const int code = request.payload_length == 0 ? check_rank(c, rank, kName)
                                               : check_transfer(c, payload, rank, request.dest_addr,
                                                                request.payload_length, nullptr, kName);
  if (code != OMPL_OK) return code == kOnDevice ? refuse_device(payload, kName) : code;
  if (functions_.find(request.function) == nullptr)
    return fail(OMPL_ERR_ARG, "{}: {} is no function; {} are registered, by ompl_call_register", kName,
                request.function, functions_.count());
  if (request.length > OMPL_CALL_ARGUMENTS || (request.arguments == nullptr && request.length != 0))
    return fail(OMPL_ERR_ARG,
                "{}: {} bytes of arguments at {}; at most {} can be sent, more as payload", kName,
                request.length, request.arguments, int{OMPL_CALL_ARGUMENTS});
  if (request.reserved != 0) return fail(OMPL_ERR_ARG, "{}: begin with OMPL_CALL_INIT", kName);
  const bool has_payload = request.payload_length != 0;
  out->rank = rank;
  out->entry = {.function = request.function,
                .length = static_cast<uint32_t>(request.length),
                .reply = 0,
                .ready = 0,
                .payload = has_payload ? request.dest_addr : 0,
                .payload_length = request.payload_length};
  out->arguments = {static_cast<const std::byte*>(request.arguments), request.length};
  if (has_payload) out->payload = payload;
  return OMPL_OK;
}

// Once. What a function cannot send now is sent later.
int RemoteCalls::send(Context& c, const Request& call) {
  Parts& parts = *parts_.load(std::memory_order_acquire);
  FunctionContext* const by = t_function;
  if (by == nullptr) return parts.outgoing.try_send(c, call);
  const int code = by->deferred.empty() ? parts.outgoing.try_send(*by->context, call) : OMPL_RETRY_FULL;
  if (!is_retry(code)) return code;
  if (call.payload != nullptr) {
    const int put =
        ompl::put(*by->context, call.payload, call.rank, call.entry.payload, call.entry.payload_length);
    if (put != OMPL_OK) return put;
  }
  return parts.contexts.defer(*by, call) ? int{OMPL_OK} : int{OMPL_RETRY_FULL};
}

int RemoteCalls::call(Context& context, uint32_t rank, const ompl_call_request& request,
                      uint64_t* reply, Deadline deadline) {
  Request call;
  if (const int code = check(context, rank, request, &call); code != OMPL_OK) return code;
  if (reply != nullptr) {
    if (const int code = may_wait("ompl_call with a reply"); code != OMPL_OK) return code;
  }
  Caller caller(context);
  Context* c = &context;
  if (call.payload != nullptr && context.bases[rank] == nullptr) {  // its source is free on return
    const int code = put(context, call.payload, rank, call.entry.payload, call.entry.payload_length);
    if (code != OMPL_OK) return code;
    call.payload = nullptr;
    c = &caller.now();
  }
  return reply != nullptr ? ask(*c, call, reply, deadline) : send_in_time(caller, call, deadline);
}

int RemoteCalls::send_in_time(Caller& caller, const Request& call, Deadline deadline) {
  Context& c = caller.now();
  const int code = send(c, call);
  if (!is_retry(code) || in_function()) return code;
  const bool follows = c.bases[call.rank] == nullptr &&
                       runtime_.network->sender.channel(c, call.rank).has_to_be_followed();
  const Blocked what{.call = ompl::Call::call, .peer = call.rank, .keeps_thread = follows};
  Blocker blocker(c, what, deadline);
  return blocker.run([&] {
    const int sent = send(blocker.context(), call);
    if (sent == OMPL_RETRY_BUSY) blocker.stay_awake();
    return is_retry(sent) ? 0 : sent == OMPL_OK ? 1 : sent;
  });
}

// The place for the reply is the context's from its first call on, and this call's meanwhile: functions and the yield hook may use
// the same context.
int RemoteCalls::ask(Context& context, Request& call, uint64_t* reply, Deadline deadline) {
  ReplyTable& replies = parts_.load(std::memory_order_acquire)->replies;
  Caller caller(context);
  Context* c = &context;  // looked up again after each wait
  uint32_t place = std::exchange(c->reply_place, kReplies);
  if (place == kReplies) {
    const Blocked what{.call = ompl::Call::call, .peer = call.rank};
    Blocker blocker(context, what, deadline);
    const int code = blocker.run([&] { return (place = replies.take()) != kReplies ? 1 : 0; });
    if (code != OMPL_OK) return code;
    c = &caller.now();
  }
  const uint32_t count = replies.next_count(place);
  call.entry.reply = place + 1;
  int code = send(*c, call);
  if (is_retry(code)) {
    code = send_in_time(caller, call, deadline);
    c = &caller.now();
  }
  if (code == OMPL_OK) {
    const CallReply* const found = look_for_a_moment(call.rank, place, count);
    if (found != nullptr) {
      code = read(*found, call.rank, reply);
    } else {
      Handle handle = handle_for(call, place, count, reply);
      handle.width = kKeepsPlace;
      code = await(*c, handle, Deadline::never());
      c = &caller.now();
      if (replies.find(place, count) == nullptr) return code;  // it is lost
    }
  }
  if (c->reply_place == kReplies) {
    c->reply_place = place;
  } else {
    replies.give_back(place);
  }
  return code;
}

// What a call of a rank of this node takes, if that is in the library. Null: no reply has come.
const CallReply* RemoteCalls::look_for_a_moment(uint32_t rank, uint32_t place, uint32_t count) {
  constexpr int kLooks = 600;
  constexpr int kLooksPerPoll = 4;  // calls of others are served meanwhile
  if (runtime_.memory.bases()[rank] == nullptr || runtime_.load.crowded()) return nullptr;
  const ReplyTable& replies = parts_.load(std::memory_order_acquire)->replies;
  for (int i = 0; i < kLooks; ++i) {
    if (const CallReply* const found = replies.find(place, count); found != nullptr) return found;
    if (i % kLooksPerPoll == 0) progress();
    arch::pause();
  }
  return nullptr;
}

int RemoteCalls::read(const CallReply& from, uint32_t rank, uint64_t* reply) {
  if (from.code == OMPL_OK) [[likely]] {
    if (reply != nullptr) *reply = from.value;
    return OMPL_OK;
  }
  return fail_quietly(
      from.code,
      fmt::format("ompl_call: rank {} could not run the function{}: see what it has logged", rank,
                  from.code == OMPL_ERR_SYSTEM ? ", which threw an exception or failed" : ""));
}

Handle RemoteCalls::handle_for(const Request& call, uint32_t place, uint32_t count, uint64_t* reply) {
  Handle handle{};
  handle.kind = Pending::Kind::call;
  handle.rank = call.rank;
  handle.ticket = place;
  handle.mark = count;
  handle.before = reply;
  return handle;
}

// OMPL_PENDING: the handle stands for it.
int RemoteCalls::send_for_reply(Context& c, Request* call, uint64_t* reply, Handle* handle) {
  ReplyTable& replies = parts_.load(std::memory_order_acquire)->replies;
  const uint32_t place = replies.take();
  if (place == kReplies) return OMPL_RETRY_FULL;
  const Handle made = handle_for(*call, place, replies.next_count(place), reply);
  call->entry.reply = place + 1;
  const int code = send(c, *call);
  if (code != OMPL_OK) {
    replies.give_back(place);
    return code;
  }
  *handle = made;
  return OMPL_PENDING;
}

int RemoteCalls::call_nb(Context& c, uint32_t rank, const ompl_call_request& request, uint64_t* reply,
                         Handle* handle) {
  Request call;
  if (const int code = check(c, rank, request, &call); code != OMPL_OK) return code;
  if (handle == nullptr && reply != nullptr)
    return fail(OMPL_ERR_ARG, "ompl_call_nb: a reply needs a handle that tells when it has come");
  return handle != nullptr ? send_for_reply(c, &call, reply, handle) : send(c, call);
}

int RemoteCalls::put_packed(Caller& caller, uint32_t rank, uint64_t offset, const Shape& shape,
                            const std::byte* local, const Signal* record, bool once, bool wants_handle,
                            Handle* handle) {
  Parts& parts = *parts_.load(std::memory_order_acquire);
  uint32_t end = 0;
  const int code = parts.packing.put(caller, rank, offset, shape, local, record, once, &end);
  if (code != OMPL_OK) return code;
  Context& c = caller.now();
  const std::atomic<uint32_t>& read = parts.outgoing.taken(rank);
  runtime_.network->sender.note_packed(c, rank, read, end);
  if (!wants_handle) return OMPL_OK;
  *handle = {};
  handle->kind = Pending::Kind::packed;
  handle->rank = rank;
  handle->ticket = end;
  return OMPL_PENDING;
}

int RemoteCalls::test_packed(const Handle& handle) {
  Parts& parts = *parts_.load(std::memory_order_acquire);
  const bool failed = runtime_.failures.peer(handle.rank).failure.load() != OMPL_OK;
  const uint32_t read = parts.outgoing.taken(handle.rank).load(std::memory_order_seq_cst);
  if (static_cast<int32_t>(read - static_cast<uint32_t>(handle.ticket)) >= 0) return 1;
  return failed ? runtime_.failures.report_failure() : 0;
}

int RemoteCalls::await_packed(Context& context) {
  if (!packs_) return OMPL_OK;
  Caller caller(context);
  const OutgoingCalls& outgoing = parts_.load(std::memory_order_acquire)->outgoing;
  int first_error = OMPL_OK;
  for (uint32_t rank = 0; rank < runtime_.size(); ++rank) {
    if (outgoing.all_told(rank) || runtime_.failures.peer(rank).failure.load() != OMPL_OK) continue;
    const Blocked what{.call = ompl::Call::quiet, .peer = rank};
    const int code = Blocker(caller.now(), what, Deadline::never()).run([&] {
      return outgoing.all_told(rank) ? 1 : 0;
    });
    if (first_error == OMPL_OK) first_error = code;
  }
  PackedGets& gets = parts_.load(std::memory_order_acquire)->gets;
  const Blocked what{.call = ompl::Call::quiet, .own_end = true};
  const int code =
      Blocker(caller.now(), what, Deadline::never()).run([&] { return gets.any() ? 0 : 1; });
  return first_error == OMPL_OK ? code : first_error;
}

int RemoteCalls::get_packed(Caller& caller, uint32_t rank, uint64_t offset, const Shape& shape,
                            std::byte* local, Deadline deadline) {
  PackedGets& gets = parts_.load(std::memory_order_acquire)->gets;
  const bool limited = deadline.finite();
  const std::shared_ptr<const Shape> kept =
      limited ? std::shared_ptr<const Shape>(shape.keep())
              : std::shared_ptr<const Shape>(std::shared_ptr<void>(), &shape);
  uint64_t number = 0;
  const PackedGets::Wanted wanted{
      .rank = rank, .offset = offset, .shape = kept, .local = local, .handle = false};
  if (const int code = gets.ask(caller, wanted, limited, &number); code != OMPL_OK) return code;
  if (limited) runtime_.network->sender.note_packed_get(caller.now(), rank);
  const Blocked what{.call = ompl::Call::get, .peer = rank, .own_end = true};
  const int code = Blocker(caller.now(), what, deadline).run([&] { return gets.test(number); });
  return code == OMPL_ERR_TIMEOUT ? int{OMPL_PENDING} : code;
}

int RemoteCalls::get_packed_nb(Caller& caller, uint32_t rank, uint64_t offset, const Shape& shape,
                               std::byte* local, Handle* handle) {
  PackedGets& gets = parts_.load(std::memory_order_acquire)->gets;
  uint64_t number = 0;
  const PackedGets::Wanted wanted{.rank = rank,
                                  .offset = offset,
                                  .shape = shape.keep(),
                                  .local = local,
                                  .handle = handle != nullptr};
  if (const int code = gets.ask(caller, wanted, true, &number); code != OMPL_OK) return code;
  runtime_.network->sender.note_packed_get(caller.now(), rank);
  if (handle == nullptr) return OMPL_PENDING;
  *handle = {};
  handle->kind = Pending::Kind::brought;
  handle->rank = rank;
  handle->ticket = number;
  return OMPL_PENDING;
}

int RemoteCalls::test_gets(const Context& c, uint32_t rank) {
  return packs_ ? parts_.load(std::memory_order_acquire)->gets.test_all(c, rank) : 1;
}

void RemoteCalls::give_up_gets(const Context& c, uint32_t rank) {
  if (packs_) parts_.load(std::memory_order_acquire)->gets.give_up(c, rank);
}

// A failure is looked for before the reply: after it none is awaited. The place of a reply that may still come stays taken.
int RemoteCalls::test(Handle& handle) {
  if (handle.kind == Pending::Kind::packed) return test_packed(handle);
  if (handle.kind == Pending::Kind::brought)
    return parts_.load(std::memory_order_acquire)->gets.test(handle.ticket);
  ReplyTable& replies = parts_.load(std::memory_order_acquire)->replies;
  const bool failed = runtime_.failures.peer(handle.rank).failure.load() != OMPL_OK;
  const auto place = static_cast<uint32_t>(handle.ticket);
  const CallReply* const reply = replies.find(place, static_cast<uint32_t>(handle.mark));
  if (reply == nullptr) return failed ? runtime_.failures.report_failure() : 0;
  const int code = read(*reply, handle.rank, static_cast<uint64_t*>(handle.before));
  if (handle.width != kKeepsPlace) replies.give_back(place);
  return code == OMPL_OK ? 1 : code;
}

bool RemoteCalls::looks_at_last() {
  return may_run_functions() && !closed_.load(std::memory_order_relaxed) &&
         parts_.load(std::memory_order_acquire)->incoming.any_at_last();
}

bool RemoteCalls::run(bool uncancelled) {
  Parts& parts = *parts_.load(std::memory_order_acquire);
  if (!may_run_functions() || closed_.load(std::memory_order_relaxed)) return false;
  return parts.incoming.run(exchange_, uncancelled);
}

void RemoteCalls::look_at_failures() {
  const uint32_t known = runtime_.failures.count();
  if (known == failures_seen_.load(std::memory_order_relaxed)) return;
  Parts* const parts = parts_.load(std::memory_order_acquire);
  if (parts == nullptr || !may_run_functions() || closed_.load(std::memory_order_relaxed)) return;
  const arch::Uncancelled whole;
  if (parts->incoming.give_back_rings_of_dead(exchange_))
    failures_seen_.store(known, std::memory_order_relaxed);
}

// After the barrier all calls that were made before are in their rings.
void RemoteCalls::finish(Context& context) {
  if (functions_.count() == 0) return;  // packed data are complete once everything is quiet
  Caller caller(context);
  const auto settled = [&](Context& c) {
    const Blocked what{.call = ompl::Call::finalize, .world = true};
    return Blocker(c, what, Deadline::never()).run([&] {
      progress();
      return due() ? 0 : 1;
    });
  };
  int code = settled(context);
  if (code == OMPL_OK) code = quiet_all(caller.now());
  if (code == OMPL_OK) code = runtime_.collective.barrier(caller.now());
  if (code == OMPL_OK) settled(caller.now());
  closed_.store(true);
}

}  // namespace ompl::calls
