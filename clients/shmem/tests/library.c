/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that have no types: setup, memory, teams, contexts, order, locks. */
#include "every.h"

static long lock;
static long counter;
static int number = 17;

void library_before(void) {
  int provided = -1, initialised = -1;
  CALL(shmem_query_initialized, shmem_query_initialized)(&initialised);
  CHECK(initialised == 0);
  CHECK(CALL(shmem_init_thread, shmem_init_thread)(SHMEM_THREAD_MULTIPLE, &provided) == 0);
  CHECK(provided == SHMEM_THREAD_MULTIPLE);
  CALL(shmem_init, shmem_init)();
  CALL(shmem_finalize, shmem_finalize)(); /* of two calls the second one */
  CALL(start_pes, start_pes)(0);
  CALL(shmem_query_initialized, shmem_query_initialized)(&initialised);
  CHECK(initialised == 1);
  CALL(shmem_query_thread, shmem_query_thread)(&provided);
  CHECK(provided == SHMEM_THREAD_MULTIPLE);
}

static void setup(void) {
  int major = 0, minor = 0, on_stack = 0;
  char name[SHMEM_MAX_NAME_LEN];
  CHECK(CALL(shmem_my_pe, shmem_my_pe)() == me && CALL(shmem_n_pes, shmem_n_pes)() == pes);
  CHECK(CALL(shmem_pe_accessible, shmem_pe_accessible)(right) == 1);
  CHECK(CALL(shmem_pe_accessible, shmem_pe_accessible)(pes) == 0);
  CHECK(CALL(shmem_addr_accessible, shmem_addr_accessible)(&number, right) == 1);
  CHECK(CALL(shmem_addr_accessible, shmem_addr_accessible)(&on_stack, right) == 0);
  CHECK(CALL(shmem_ptr, shmem_ptr)(&number, me) == &number);
  CHECK(CALL(shmem_ptr, shmem_ptr)(&on_stack, me) == NULL);
  int* theirs = CALL(shmem_ptr, shmem_ptr)(&number, right);
  CHECK(theirs == NULL || *theirs == 17);
  CALL(shmem_info_get_version, shmem_info_get_version)(&major, &minor);
  CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION && major == 1 && minor == 6);
  CALL(shmem_info_get_name, shmem_info_get_name)(name);
  CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0);
  CALL(shmem_pcontrol, shmem_pcontrol)(1, "text");
  if (me == pes) CALL(shmem_global_exit, shmem_global_exit)(1); /* tests/exit.c calls it */
}

static void memory(void) {
  unsigned char* first = CALL(shmem_malloc, shmem_malloc)(100);
  unsigned char* zero = CALL(shmem_calloc, shmem_calloc)(10, 10);
  unsigned char* aligned = CALL(shmem_align, shmem_align)(8192, 100);
  unsigned char* hinted =
      CALL(shmem_malloc_with_hints, shmem_malloc_with_hints)(100, SHMEM_MALLOC_ATOMICS_REMOTE);
  CHECK(first != NULL && zero != NULL && aligned != NULL && hinted != NULL);
  CHECK((uintptr_t)first % _Alignof(max_align_t) == 0 && (uintptr_t)aligned % 8192 == 0);
  for (int i = 0; i < 100; ++i) CHECK(zero[i] == 0);
  memset(first, me + 1, 100);
  first = CALL(shmem_realloc, shmem_realloc)(first, 3 << 20);
  CHECK(first != NULL && first[99] == me + 1);
  shmem_uchar_p(first + (3 << 20) - 1, (unsigned char)(me + 1), right);
  shmem_barrier_all();
  CHECK(first[(3 << 20) - 1] == left + 1);
  first = CALL(shmem_realloc, shmem_realloc)(first, 50);
  CHECK(first != NULL && first[49] == me + 1);
  CHECK(CALL(shmem_malloc, shmem_malloc)(0) == NULL);
  CHECK(CALL(shmem_malloc, shmem_malloc)((size_t)1 << 50) == NULL);
  CHECK(CALL(shmem_realloc, shmem_realloc)(first, (size_t)1 << 50) == NULL);
  CALL(shmem_free, shmem_free)(first);
  CALL(shmem_free, shmem_free)(zero);
  CALL(shmem_free, shmem_free)(aligned);
  CALL(shmem_free, shmem_free)(hinted);
}

static void teams(void) {
  shmem_team_config_t config = {.num_contexts = 3}, got = {.num_contexts = 9};
  shmem_team_t reversed = SHMEM_TEAM_INVALID, x = SHMEM_TEAM_INVALID, y = SHMEM_TEAM_INVALID,
               only = SHMEM_TEAM_INVALID;
  shmem_ctx_t context = SHMEM_CTX_INVALID;
  CHECK(CALL(shmem_team_split_strided, shmem_team_split_strided)(
            SHMEM_TEAM_WORLD, pes - 1, -1, pes, &config, SHMEM_TEAM_NUM_CONTEXTS, &reversed) == 0);
  CHECK(CALL(shmem_team_my_pe, shmem_team_my_pe)(reversed) == pes - 1 - me);
  CHECK(CALL(shmem_team_n_pes, shmem_team_n_pes)(reversed) == pes);
  CHECK(CALL(shmem_team_n_pes, shmem_team_n_pes)(SHMEM_TEAM_INVALID) == -1);
  CHECK(CALL(shmem_team_get_config, shmem_team_get_config)(reversed, SHMEM_TEAM_NUM_CONTEXTS, &got) ==
        0);
  CHECK(got.num_contexts == 3);
  CHECK(CALL(shmem_team_translate_pe, shmem_team_translate_pe)(reversed, 0, SHMEM_TEAM_WORLD) ==
        pes - 1);
  CHECK(CALL(shmem_team_translate_pe, shmem_team_translate_pe)(reversed, pes, SHMEM_TEAM_WORLD) == -1);
  CHECK(CALL(shmem_team_split_2d, shmem_team_split_2d)(SHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y) ==
        0);
  CHECK(shmem_team_my_pe(x) == me % 2 && shmem_team_my_pe(y) == me / 2);
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, pes, NULL, 0, &only) != 0 &&
        only == SHMEM_TEAM_INVALID);
  const int alone = shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &only);
  CHECK(alone == 0 && (only == SHMEM_TEAM_INVALID) == (me != 0));
  CHECK(CALL(shmem_team_ptr, shmem_team_ptr)(reversed, &number, pes - 1 - me) == &number);
  CHECK(CALL(shmem_team_create_ctx, shmem_team_create_ctx)(reversed, SHMEM_CTX_PRIVATE, &context) == 0);
  shmem_team_t of = SHMEM_TEAM_INVALID;
  CHECK(CALL(shmem_ctx_get_team, shmem_ctx_get_team)(context, &of) == 0 && of == reversed);
  counter = -1;
  shmem_barrier_all();
  shmem_ctx_long_p(context, &counter, me, pes - 1 - right); /* numbers are the team's */
  CALL(shmem_ctx_quiet, shmem_ctx_quiet)(context);
  CALL(shmem_ctx_destroy, shmem_ctx_destroy)(context);
  CHECK(CALL(shmem_team_sync, shmem_sync)(reversed) == 0);
  CHECK(counter == left);
  CALL(shmem_team_destroy, shmem_team_destroy)(only);
  CALL(shmem_team_destroy, shmem_team_destroy)(x);
  CALL(shmem_team_destroy, shmem_team_destroy)(y);
  CALL(shmem_team_destroy, shmem_team_destroy)(reversed);
}

static void order(void) {
  shmem_ctx_t context = SHMEM_CTX_INVALID;
  const shmem_ctx_session_config_t config = {.total_ops = 2};
  CHECK(CALL(shmem_ctx_create, shmem_ctx_create)(SHMEM_CTX_SERIALIZED, &context) == 0);
  CALL(shmem_ctx_session_start, shmem_ctx_session_start)
  (context, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
  counter = 0;
  sig = 0;
  shmem_barrier_all();
  shmem_ctx_long_p(context, &counter, 5, right);
  CALL(shmem_ctx_fence, shmem_ctx_fence)(context);
  shmem_ctx_signal_set(context, &sig, 1, right);
  CALL(shmem_ctx_session_stop, shmem_ctx_session_stop)(context);
  shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 1);
  CHECK(counter == 5);
  shmem_barrier_all();
  shmem_long_p(&counter, 6, right);
  CALL(shmem_fence, shmem_fence)();
  shmem_signal_set(&sig, 2, right);
  shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 2);
  CHECK(counter == 6);
  shmem_barrier_all();
  shmem_long_p(&counter, 7, right);
  CALL(shmem_quiet, shmem_quiet)();
  shmem_ctx_long_p(context, &counter, 8, right);
  CALL(shmem_ctx_pe_quiet, shmem_ctx_pe_quiet)(context, &right, 1);
  CHECK(shmem_long_g(&counter, right) == 8);
  shmem_long_p(&counter, 9, right);
  CALL(shmem_pe_quiet, shmem_pe_quiet)(&right, 1);
  CHECK(shmem_long_g(&counter, right) == 9);
  CALL(shmem_ctx_quiet, shmem_ctx_quiet)(SHMEM_CTX_INVALID);
  CALL(shmem_ctx_destroy, shmem_ctx_destroy)(context);
  CALL(shmem_sync_all, shmem_sync_all)();
  CALL(shmem_barrier_all, shmem_barrier_all)();
  CALL(shmem_sync, shmem_sync)(0, 0, pes, work);
  CALL(shmem_barrier, shmem_barrier)(0, 0, pes, work);
}

static void locks(void) {
  enum { kRounds = 200 };
  counter = 0;
  shmem_barrier_all();
  for (int i = 0; i < kRounds; ++i) { /* a counter on PE 0 that only the lock protects */
    if (i % 2 == 0) {
      CALL(shmem_set_lock, shmem_set_lock)(&lock);
    } else {
      while (CALL(shmem_test_lock, shmem_test_lock)(&lock) != 0) {
      }
    }
    shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
    CALL(shmem_clear_lock, shmem_clear_lock)(&lock);
  }
  shmem_barrier_all();
  CHECK(shmem_long_g(&counter, 0) == (long)kRounds * pes);
}

void library(void) {
  setup();
  memory();
  teams();
  order();
  locks();
}

void library_after(void) {
  int initialised = -1;
  CALL(shmem_finalize, shmem_finalize)();
  shmem_query_initialized(&initialised);
  CHECK(initialised == 0);
  shmem_init(); /* OpenSHMEM may begin again */
  CHECK(shmem_my_pe() == me && number == 17);
  long* block = shmem_malloc(sizeof *block);
  shmem_long_p(block, me, right);
  shmem_barrier_all();
  CHECK(*block == left);
  shmem_finalize();
}
