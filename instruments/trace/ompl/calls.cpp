// SPDX-License-Identifier: BSD-3-Clause
// The interposer's part for ompl_calls.h: calls, the functions that run for them, and their replies; and for memory of one rank
// or a team. A call that waits for its reply is recorded as its posting and a wait, since functions run meanwhile.
#include "call.hpp"

namespace ompl::trace {

namespace {

struct Function {
  ompl_call_fn code;
  void* user;
};
Function functions[OMPL_CALL_FUNCTIONS];  // by one thread: registration is collective
uint32_t function_count = 0;

Fields of_call(uint32_t rank, const ompl_call_request* request) {
  Fields fields{.peer = static_cast<int32_t>(rank)};
  if (request == nullptr) return fields;
  fields.bytes = request->length + request->payload_length;
  fields.tag = static_cast<int32_t>(request->function);
  return fields;
}

uint64_t run(void* user, const ompl_call_context* told) {
  const Function& function = *static_cast<const Function*>(user);
  Call call(Kind::kOmplFunction, reinterpret_cast<void*>(function.code),
            {.peer = static_cast<int32_t>(told->source),
             .bytes = told->length + told->payload_length,
             .tag = static_cast<int32_t>(told->function)});
  call.mark(Kind::kOmplFunction, false, true);
  call.compute();
  const uint64_t result = function.code(function.user, told);
  call.mark(Kind::kOmplReply, false);
  return result;
}

}  // namespace

}  // namespace ompl::trace

using namespace ompl::trace;  // NOLINT(google-build-using-namespace)

extern "C" {

// Collective, as a barrier.
int ompl_call_register(const char* name, ompl_call_fn code, void* user, uint32_t* function) {
  const bool known = code != nullptr && function_count < OMPL_CALL_FUNCTIONS;
  Function* const one = known ? &functions[function_count] : nullptr;
  if (known) *one = {code, user};
  Call call(Kind::kOmplBarrier, __builtin_return_address(0), {});
  const int result = call.run([&] {
    return OMPL_REAL(ompl_call_register)(name, known ? run : code, known ? one : user, function);
  });
  call.append();
  if (known && result == OMPL_OK) ++function_count;
  return result;
}

int ompl_call(ompl_ctx* ctx, uint32_t target_rank, const ompl_call_request* request, uint64_t* reply,
              int64_t timeout_ns) {
  Call call(Kind::kOmplCall, __builtin_return_address(0), of_call(target_rank, request));
  if (reply != nullptr) {
    const uint32_t id = call.mark(Kind::kOmplCallNb, true);
    const Record posted = call.record();
    call.record() = {};
    call.record().kind = Kind::kOmplHandleWait;
    call.record().peer = kNoPeer;
    call.record().comm = posted.comm;
    call.record().request = id;
    call.record().site = posted.site;
  }
  const int code =
      call.run([&] { return OMPL_REAL(ompl_call)(ctx, target_rank, request, reply, timeout_ns); });
  call.append();
  return code;
}

int ompl_call_nb(ompl_ctx* ctx, uint32_t target_rank, const ompl_call_request* request, uint64_t* reply,
                 ompl_handle* handle) {
  Call call(Kind::kOmplCallNb, __builtin_return_address(0), of_call(target_rank, request));
  return call.post([&] { return OMPL_REAL(ompl_call_nb)(ctx, target_rank, request, reply, handle); },
                   handle);
}

int ompl_team_alloc(ompl_team* team, size_t size, uint64_t* offset) {
  OMPL_TRACED(kOmplTeamAlloc, ompl_team_alloc, (team, size, offset), .bytes = size);
}
int ompl_team_free(ompl_team* team, uint64_t offset) {
  OMPL_TRACED(kOmplTeamFree, ompl_team_free, (team, offset), );
}
int ompl_alloc_local(size_t size, uint64_t* offset) {
  OMPL_TRACED(kOmplLocalAlloc, ompl_alloc_local, (size, offset), .bytes = size);
}
int ompl_free_local(uint64_t offset) { OMPL_TRACED(kOmplLocalFree, ompl_free_local, (offset), ); }
int ompl_adopt_local(void* address, size_t length, uint64_t* offset) {
  OMPL_TRACED(kOmplLocalAlloc, ompl_adopt_local, (address, length, offset), .bytes = length);
}
int ompl_unadopt_local(uint64_t offset) { OMPL_TRACED(kOmplLocalFree, ompl_unadopt_local, (offset), ); }

}  // extern "C"
