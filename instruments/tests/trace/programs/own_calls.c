/* SPDX-License-Identifier: BSD-3-Clause
 * Remote calls with and without a reply and by a handle, a function that calls back; memory of a team and of one rank. On 2 ranks. */
#include <omnipgas/ompl_calls.h>
#include <omnipgas/ompl_memory.h>
#include <stdatomic.h>
#include <stdlib.h>

#define MUST(call)           \
  do {                       \
    if ((call) < 0) abort(); \
  } while (0)

static uint32_t twice_number, back_number, heard_number;
static atomic_int heard;

static uint64_t twice(void* user, const ompl_call_context* call) {
  (void)user;
  return 2 * *(const uint64_t*)call->arguments;
}

static uint64_t note(void* user, const ompl_call_context* call) {
  (void)user, (void)call;
  return (uint64_t)atomic_fetch_add(&heard, 1);
}

static uint64_t back(void* user, const ompl_call_context* call) {
  (void)user;
  ompl_call_request request = OMPL_CALL_INIT;
  request.function = heard_number;
  MUST(ompl_call(call->context, call->source, &request, NULL, OMPL_FOREVER));
  return 0;
}

static void caller(void) {
  ompl_call_request request = OMPL_CALL_INIT;
  ompl_handle handle = OMPL_HANDLE_INIT;
  uint64_t argument = 21, reply = 0;
  request.function = twice_number;
  request.arguments = &argument;
  request.length = sizeof argument;
  MUST(ompl_call(OMPL_CTX_DEFAULT, 1, &request, &reply, OMPL_FOREVER));
  if (reply != 42) abort();
  request.function = back_number;
  MUST(ompl_call(OMPL_CTX_DEFAULT, 1, &request, NULL, OMPL_FOREVER));
  while (heard == 0) MUST(ompl_progress(OMPL_CTX_DEFAULT, 1000000));
  request.function = twice_number;
  int code;
  while ((code = ompl_call_nb(OMPL_CTX_DEFAULT, 1, &request, &reply, &handle)) > OMPL_PENDING) {
  }
  MUST(code);
  MUST(ompl_handle_wait(OMPL_CTX_DEFAULT, &handle, OMPL_FOREVER));
}

int main(void) {
  uint64_t flag, own;
  ompl_team* team;
  MUST(ompl_init());
  MUST(ompl_alloc(4, &flag));
  MUST(ompl_call_register("twice", twice, NULL, &twice_number));
  MUST(ompl_call_register("back", back, NULL, &back_number));
  MUST(ompl_call_register("note", note, NULL, &heard_number));
  if (ompl_rank() == 0) {
    MUST(ompl_wait(flag)); /* rank 1 has left the barrier: what ran within is replayed before it */
    caller();
    MUST(ompl_put_word(1, flag));
  } else {
    MUST(ompl_put_word(0, flag));
    MUST(ompl_wait(flag)); /* runs the functions meanwhile */
    MUST(ompl_alloc_local(100, &own));
    MUST(ompl_free_local(own));
  }
  MUST(ompl_team_world(&team));
  MUST(ompl_team_alloc(team, 1000, &own));
  MUST(ompl_team_free(team, own));
  MUST(ompl_finalize());
}
