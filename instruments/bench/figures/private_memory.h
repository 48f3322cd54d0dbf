/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process has for itself. */
#ifndef BENCH_FIGURES_PRIVATE_MEMORY_H
#define BENCH_FIGURES_PRIVATE_MEMORY_H

#include <stdio.h>

/* Private_Clean + Private_Dirty of /proc/self/smaps_rollup, in KiB. */
static inline long private_memory(void) {
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

#endif
