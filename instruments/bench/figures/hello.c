/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest job: init, a barrier, finalize. Prints its private memory in between (omni figures). */
#include <omnipgas/ompl.h>

#include "private_memory.h"

int main(void) {
  if (ompl_init() || ompl_barrier()) return 1;
  printf("rank %d of %d, private %ld KiB\n", ompl_rank(), ompl_size(), private_memory());
  return ompl_finalize() ? 1 : 0;
}
