/* SPDX-License-Identifier: BSD-3-Clause */
/* 8-byte ompl_put + ompl_put_word to a mapped rank, in a function that callgrind counts (omni figures). */
#include <omnipgas/ompl.h>
#include <stdint.h>
#include <stdio.h>

enum { calls = 1000 };

__attribute__((noinline)) void measured_calls(uint64_t source, uint64_t data, uint64_t flag) {
  for (int i = 0; i < calls; i++) {
    ompl_put(source, 0, data, sizeof(uint64_t));
    ompl_put_word(0, flag);
  }
}

int main(void) {
  uint64_t data = 0;
  uint64_t flag = 0;
  uint64_t source = 42;
  if (ompl_init() || ompl_alloc(4096, &data) || ompl_alloc(256, &flag)) return 1;
  /* Remembers both allocations, as any call but the first finds them. */
  if (ompl_put((uint64_t)&source, 0, data, sizeof source) || ompl_put_word(0, flag)) return 1;
  measured_calls((uint64_t)&source, data, flag);
  for (int i = 0; i <= calls; i++)
    if (ompl_wait(flag)) return 1; /* every signal arrived: the calls did their work */
  printf("calls %d\n", calls);
  return ompl_finalize() ? 1 : 0;
}
