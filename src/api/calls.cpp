// SPDX-License-Identifier: BSD-3-Clause
// The functions of ompl_calls.h as thin calls of the runtime.
#include "omnipgas/ompl_calls.h"

#include "api/call.hpp"
#include "core/calls/calls.hpp"

using ompl::Context;
using ompl::Deadline;
using ompl::api::with;

extern "C" {

int ompl_call_register(const char* name, ompl_call_fn code, void* user, uint32_t* function) {
  return with(nullptr,
              [=](Context& c) { return c.runtime->remote_calls.add(c, name, code, user, function); });
}

int ompl_call(ompl_ctx* ctx, uint32_t target_rank, const ompl_call_request* request, uint64_t* reply,
              int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    if (request == nullptr) return ompl::fail(OMPL_ERR_ARG, "ompl_call: the request is null");
    return c.runtime->remote_calls.call(c, target_rank, *request, reply, Deadline::in(timeout_ns));
  });
}

int ompl_call_nb(ompl_ctx* ctx, uint32_t target_rank, const ompl_call_request* request, uint64_t* reply,
                 ompl_handle* handle) {
  return with(ctx, [=](Context& c) {
    if (request == nullptr) return ompl::fail(OMPL_ERR_ARG, "ompl_call_nb: the request is null");
    return c.runtime->remote_calls.call_nb(c, target_rank, *request, reply,
                                           handle != nullptr ? &ompl::handle_of(*handle) : nullptr);
  });
}

int ompl_call_fail(const char* why) {
  return with(nullptr, [=](Context&) { return ompl::calls::fail_function(why); });
}

}  // extern "C"
