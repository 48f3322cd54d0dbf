/* SPDX-License-Identifier: BSD-3-Clause
 * Operations of ompl_ext.h, each once or so, the small ones compiled in by ompl_inline.h. On 2 ranks. */
#include <omnipgas/ompl_inline.h>
#include <stdlib.h>

#define MUST(call)           \
  do {                       \
    if ((call) < 0) abort(); \
  } while (0)

enum { kLength = 1000 };
#define HERE OMPL_CTX_DEFAULT, (uint64_t)here
#define NOW OMPL_CTX_DEFAULT, OMPL_FOREVER

static char here[kLength];

/* Within ompl_progress(). */
static void answer(void* flag, int code) {
  MUST(code);
  MUST(ompl_put_word(0, *(uint64_t*)flag));
}

static void origin(uint64_t data, uint64_t flags) {
  ompl_handle handles[2] = {OMPL_HANDLE_INIT, OMPL_HANDLE_INIT};
  const size_t extents[] = {2, 3};
  const ompl_strided block = {.element = 4, .dimensions = 2, .extents = extents};
  const ompl_indexed list = {.element = 8, .count = 5};
  const ompl_signal two = {flags, 2, OMPL_ADD32}, set = {flags + 8, 7, OMPL_SET64};
  const ompl_condition taken = {flags + 16, 0, OMPL_TAKE, 32};
  uint32_t before;
  for (int i = 0; i < 2; ++i) MUST(ompl_put((uint64_t)here, 1, data, 100));
  MUST(ompl_put_nb(HERE, 1, data, 200, NULL, 0, &handles[0]));
  MUST(ompl_get_nb(HERE, 1, data, 300, &handles[1]));
  MUST(ompl_handle_wait_all(OMPL_CTX_DEFAULT, handles, 2, OMPL_FOREVER));
  MUST(ompl_ctx_put_strided(HERE, 1, data, &block, NULL, OMPL_FOREVER));
  MUST(ompl_ctx_get_indexed(HERE, 1, data, &list, OMPL_FOREVER));
  MUST(ompl_put_strided_nb(HERE, 1, data, &block, NULL, 0, &handles[0]));
  MUST(ompl_get_indexed_nb(HERE, 1, data, &list, &handles[1]));
  MUST(ompl_handle_wait_all(OMPL_CTX_DEFAULT, handles, 2, OMPL_FOREVER));
  MUST(ompl_fetch_add32(1, flags + 32, 5, &before));
  MUST(ompl_add32(1, flags + 36, 1));
  MUST(ompl_ctx_signal(OMPL_CTX_DEFAULT, 1, &two, OMPL_FOREVER));
  MUST(ompl_signal_nb(OMPL_CTX_DEFAULT, 1, &set));
  MUST(ompl_ctx_wait_until(OMPL_CTX_DEFAULT, &taken, OMPL_FOREVER));
}

static void target(uint64_t flags) {
  const ompl_condition seven = {flags + 8, 7, OMPL_EQ, 64}, one = {flags + 36, 1, OMPL_GE, 32};
  const ompl_condition either[] = {{flags, 0, OMPL_TAKE, 32}, {flags + 40, 0, OMPL_TAKE, 32}};
  uint64_t reply = flags + 16;
  ompl_watch watch;
  size_t which;
  MUST(ompl_ctx_wait_any(OMPL_CTX_DEFAULT, either, 2, &which, OMPL_FOREVER));
  MUST(ompl_wait(flags));
  MUST(ompl_ctx_wait_until(OMPL_CTX_DEFAULT, &one, OMPL_FOREVER));
  MUST(ompl_flag_then(&watch, &seven, answer, &reply));
  while (ompl_progress(NOW) == 0) {
  }
}

int main(void) {
  uint64_t data, flags;
  MUST(ompl_init());
  MUST(ompl_alloc(kLength, &data));
  MUST(ompl_alloc(64, &flags));
  ompl_rank() == 0 ? origin(data, flags) : target(flags);
  MUST(ompl_finalize());
}
