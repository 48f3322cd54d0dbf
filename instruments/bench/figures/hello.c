/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest job: init, a barrier, finalize. Prints its private memory in between (omni figures). */
#include <omnipgas/ompl.h>
#include <stdio.h>

/* Private_Clean + Private_Dirty of /proc/self/smaps_rollup, in KiB. */
static long private_memory(void) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  char line[256];
  long total = 0;
  long value = 0;
  if (!file) return -1;
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "Private_Clean: %ld", &value) == 1 ||
        sscanf(line, "Private_Dirty: %ld", &value) == 1)
      total += value;
  fclose(file);
  return total;
}

int main(void) {
  if (ompl_init() || ompl_barrier()) return 1;
  printf("rank %d of %d, private %ld KiB\n", ompl_rank(), ompl_size(), private_memory());
  return ompl_finalize() ? 1 : 0;
}
