/* SPDX-License-Identifier: BSD-3-Clause */
/* Every rank signals to every other one through each of its endpoints, so that all connections there can be are there;
 * then prints its private memory and its descriptors (omni endpoints). A context begins with the endpoint of its number.
 *
 *   ompl_bench_connected ENDPOINTS */
#include <dirent.h>
#include <omnipgas/ompl.h>
#include <stdlib.h>

#include "private_memory.h"

static int descriptors(void) {
  DIR* folder = opendir("/proc/self/fd");
  int count = 0;
  if (!folder) return -1;
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

int main(int argc, char** argv) {
  const int endpoints = argc > 1 ? atoi(argv[1]) : 1;
  const int64_t limit = 20000000000; /* ns */
  uint64_t flag, data;
  const uint64_t word = 1;
  if (ompl_init() || ompl_alloc(4, &flag) || ompl_alloc(8, &data)) return 1;
  for (int i = 0; i < endpoints; ++i) {
    ompl_ctx* ctx;
    if (ompl_ctx_create(&ctx)) return 1;
    for (uint32_t rank = 0; rank < (uint32_t)ompl_size(); ++rank) {
      if (rank == (uint32_t)ompl_rank()) continue;
      if (ompl_ctx_put_signal(ctx, (uint64_t)(uintptr_t)&word, rank, data, sizeof word, flag, limit))
        return 1;
    }
    if (ompl_ctx_quiet(ctx, limit) || ompl_ctx_destroy(ctx)) return 1;
  }
  if (ompl_barrier()) return 1;
  printf("rank %d of %d, private %ld KiB, descriptors %d\n", ompl_rank(), ompl_size(), private_memory(),
         descriptors());
  return ompl_finalize() ? 1 : 0;
}
