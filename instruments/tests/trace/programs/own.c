/* SPDX-License-Identifier: BSD-3-Clause
 * This layer's own operations, each once or so. On 2 ranks. */
#include <omnipgas/ompl.h>
#include <stdlib.h>

#define MUST(call)           \
  do {                       \
    if ((call) < 0) abort(); \
  } while (0)

enum { kLength = 1000 };

int main(void) {
  static char here[kLength];
  uint64_t data, flags;
  MUST(ompl_init());
  const uint32_t peer = 1 - (uint32_t)ompl_rank();
  MUST(ompl_alloc(kLength, &data));
  MUST(ompl_alloc(64, &flags));
  if (peer == 1) {
    MUST(ompl_put((uint64_t)here, peer, data, kLength));
    MUST(ompl_put_word(peer, flags));
    MUST(ompl_put((uint64_t)here, peer, data, 100));
    MUST(ompl_quiet());
    MUST(
        ompl_ctx_put_signal(OMPL_CTX_DEFAULT, (uint64_t)here, peer, data, 10, flags + 4, OMPL_FOREVER));
    MUST(ompl_wait(flags + 8));
  } else {
    while (ompl_poll(flags) == 0) {
    }
    MUST(ompl_wait(flags));
    MUST(ompl_wait(flags + 4));
    MUST(ompl_get((uint64_t)here, peer, data, 200));
    MUST(ompl_put_word(peer, flags + 8));
    if (ompl_ctx_wait(OMPL_CTX_DEFAULT, flags, 1000) != OMPL_ERR_TIMEOUT) abort();
  }
  MUST(ompl_flush());
  MUST(ompl_barrier());
  MUST(ompl_free(flags));
  MUST(ompl_finalize());
}
