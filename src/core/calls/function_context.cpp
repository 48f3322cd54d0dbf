// SPDX-License-Identifier: BSD-3-Clause
#include "core/calls/function_context.hpp"

#include "core/data/operations.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

namespace ompl::calls {

int may_wait(const char* what) {
  if (!in_function()) return OMPL_OK;
  return fail(OMPL_ERR_STATE,
              "{}: a function that another rank has called may not wait for another rank; put, signal "
              "or call, and let the rank "
              "that is to go on wait",
              what);
}

int fail_function(const char* why) {
  if (!in_function())
    return fail(OMPL_ERR_STATE,
                "ompl_call_fail: this thread runs no function that another rank has called");
  t_function->failure = why != nullptr && *why != '\0' ? why : "it gave no reason";
  return OMPL_OK;
}

std::unique_ptr<FunctionContext> FunctionContexts::take() {
  {
    const std::scoped_lock lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<FunctionContext> one = std::move(free_.back());
      free_.pop_back();
      return one;
    }
  }
  auto made = std::make_unique<FunctionContext>();
  made->context = runtime_.contexts.open();
  return made;
}

void FunctionContexts::give_back(std::unique_ptr<FunctionContext> one) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(std::move(one));
}

void FunctionContexts::park(std::unique_ptr<FunctionContext> one) {
  const std::scoped_lock lock(settling_);
  parked_.push_back(std::move(one));
  unsettled_.fetch_add(1);
}

bool FunctionContexts::defer(FunctionContext& one, const Request& call) {
  if (deferred_count_.fetch_add(1) >= OMPL_CALL_QUEUE) {
    deferred_count_.fetch_sub(1);
    return false;
  }
  one.deferred.push_back({call.rank, call.entry, {call.arguments.begin(), call.arguments.end()}});
  return true;
}

// The reply comes after the function's puts, and its calls after the function's earlier ones.
bool FunctionContexts::settle_rest(FunctionContext& one) {
  Context& c = *one.context;
  if (one.reply_due && !is_retry(send_reply(one))) one.reply_due = false;
  while (!one.deferred.empty()) {
    const FunctionContext::Deferred& next = one.deferred.front();
    const int code =
        outgoing_.try_send(c, {.rank = next.rank, .entry = next.entry, .arguments = next.arguments});
    if (is_retry(code)) break;
    // What has failed is lost, as what was sent to that rank before; a handle tells it.
    one.deferred.pop_front();
    deferred_count_.fetch_sub(1);
  }
  if (one.reply_due || !one.deferred.empty()) return false;
  if (one.handle.kind != Pending::Kind::none && test(c, one.handle) == 0) return false;
  if (c.holder.load(std::memory_order_relaxed) == nullptr) return true;
  runtime_.network->sender.send_held(c);
  return c.holder.load(std::memory_order_relaxed) == nullptr;
}

// Over a network. OMPL_RETRY_*: not sent. An error: nobody is there to read it.
int FunctionContexts::send_reply(FunctionContext& one) {
  if (one.lands) return send_landing(one);
  Context& c = *one.context;
  const uint64_t offset = begin_ + layout_.reply(one.place);
  const Signal record{.offset = offset};
  return runtime_.network->sender.put_nb(c, &one.reply.code, one.caller,
                                         offset + offsetof(CallReply, code), kReplyBytes, &record, true,
                                         &one.handle);
}

int FunctionContexts::send_landing(FunctionContext& one) {
  Context& c = *one.context;
  const uint64_t offset = begin_ + layout_.landing(one.place);
  const uint64_t front = offset + offsetof(PackedLanding, code);
  const Signal record{.offset = offset};
  if (std::byte* const base = c.bases[one.caller]; base != nullptr) {
    c.put_mapped(one.landing.data(), one.caller, front, one.landing.size());
    runtime_.sleepers.raise(one.caller, base, record);
    return OMPL_OK;
  }
  return runtime_.network->sender.put_nb(c, one.landing.data(), one.caller, front, one.landing.size(),
                                         &record, true, &one.handle);
}

}  // namespace ompl::calls
