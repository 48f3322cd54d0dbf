// SPDX-License-Identifier: BSD-3-Clause
#include "core/calls/calls.hpp"

#include <new>
#include <string_view>

#include "core/calls/scope.hpp"
#include "core/data/checks.hpp"
#include "core/data/operations.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl::calls {
namespace {

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
        contexts(runtime, layout, begin, outgoing, unsettled),
        incoming(runtime, layout, begin, functions, contexts, unsettled) {}

  const Layout layout;
  ReplyTable replies;
  OutgoingCalls outgoing;
  FunctionContexts contexts;
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
  parts_.store(new Parts(runtime_, layout, begin, functions_, unsettled_));
  std::byte* const base = runtime_.memory.segment().base() + begin;
  runtime_.sleepers.call_arrivals.open(
      reinterpret_cast<std::atomic<uint64_t>*>(base + layout.arrivals()), begin + layout.ring(0),
      layout.ring_bytes(), layout.rings());
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
  const int code =
      check_transfer(c, payload, rank, request.dest_addr, request.payload_length, nullptr, kName);
  if (code != OMPL_OK) return code;
  if (functions_.find(request.function) == nullptr)
    return fail(OMPL_ERR_ARG, "{}: {} is no function; {} are registered, by ompl_call_register", kName,
                request.function, functions_.count());
  if (request.length > OMPL_CALL_ARGUMENTS || (request.arguments == nullptr && request.length != 0))
    return fail(OMPL_ERR_ARG,
                "{}: {} bytes of arguments at {}; at most {} can be sent, more as payload", kName,
                request.length, request.arguments, int{OMPL_CALL_ARGUMENTS});
  if (request.reserved != 0) return fail(OMPL_ERR_ARG, "{}: begin with OMPL_CALL_INIT", kName);
  const bool has_payload = request.payload_length != 0;
  *out = {.rank = rank,
          .entry = {.function = request.function,
                    .length = static_cast<uint32_t>(request.length),
                    .reply = 0,
                    .unused = 0,
                    .payload = has_payload ? request.dest_addr : 0,
                    .payload_length = request.payload_length},
          .arguments = {static_cast<const std::byte*>(request.arguments), request.length},
          .payload = has_payload ? payload : nullptr};
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
  Caller caller(context);
  Handle handle{};
  if (reply != nullptr) {
    if (const int code = may_wait("ompl_call with a reply"); code != OMPL_OK) return code;
  }
  if (call.payload != nullptr &&
      context.bases[rank] == nullptr) {  // its source is free when this returns
    const int code = put(context, call.payload, rank, call.entry.payload, call.entry.payload_length);
    if (code != OMPL_OK) return code;
    call.payload = nullptr;
  }
  const auto once = [&](Context& c) {
    return reply != nullptr ? send_for_reply(c, &call, reply, &handle) : send(c, call);
  };
  int code = once(caller.now());
  if (is_retry(code) && !in_function()) {
    Context& now = caller.now();
    const bool follows =
        now.bases[rank] == nullptr && runtime_.network->sender.channel(now, rank).has_to_be_followed();
    const Blocked what{.call = ompl::Call::call, .peer = rank, .keeps_thread = follows};
    Blocker blocker(now, what, deadline);
    code = blocker.run([&] {
      const int sent = once(blocker.context());
      if (sent == OMPL_RETRY_BUSY) blocker.stay_awake();
      return is_retry(sent) ? 0 : sent >= 0 ? 1 : sent;
    });
  }
  if (code == OMPL_PENDING) code = OMPL_OK;
  return code == OMPL_OK && reply != nullptr ? await(caller.now(), handle, Deadline::never()) : code;
}

// OMPL_PENDING: the handle stands for it.
int RemoteCalls::send_for_reply(Context& c, Request* call, uint64_t* reply, Handle* handle) {
  Parts& parts = *parts_.load(std::memory_order_acquire);
  uint32_t count = 0;
  const uint32_t place = parts.replies.take(&count);
  if (place == kReplies) return OMPL_RETRY_FULL;
  call->entry.reply = place + 1;
  const int code = send(c, *call);
  if (code != OMPL_OK) {
    parts.replies.give_back(place);
    return code;
  }
  *handle = {};
  handle->kind = Pending::Kind::call;
  handle->rank = call->rank;
  handle->ticket = place;
  handle->mark = count;
  handle->before = reply;
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

// A failure is looked for before the reply: after it none is awaited. The place of a reply that may still come stays taken.
int RemoteCalls::test(Handle& handle) {
  Parts& parts = *parts_.load(std::memory_order_acquire);
  const bool failed = runtime_.failures.peer(handle.rank).failure.load() != OMPL_OK;
  const auto place = static_cast<uint32_t>(handle.ticket);
  const CallReply* const reply = parts.replies.find(place, static_cast<uint32_t>(handle.mark));
  if (reply == nullptr) return failed ? runtime_.failures.report_failure() : 0;
  const CallReply read = *reply;
  parts.replies.give_back(place);
  if (read.code == OMPL_OK) {
    if (handle.before != nullptr) *static_cast<uint64_t*>(handle.before) = read.value;
    return 1;
  }
  return fail_quietly(
      read.code,
      fmt::format("ompl_call: rank {} could not run the function{}: see what it has logged",
                  handle.rank, read.code == OMPL_ERR_SYSTEM ? ", which threw an exception" : ""));
}

bool RemoteCalls::run() {
  Parts& parts = *parts_.load(std::memory_order_acquire);
  if (!may_run_functions() || closed_.load(std::memory_order_relaxed)) return false;
  const arch::Uncancelled whole;
  return parts.incoming.run(exchange_);
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
  if (parts_.load() == nullptr) return;
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
