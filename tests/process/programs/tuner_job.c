/* SPDX-License-Identifier: BSD-3-Clause */
/* tuner_job CALLS [request]: that many sums of eight numbers over all ranks, each checked, through the shared library, in processes;
 * with a request for each, if so said. */
#include <omnipgas/coll.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const long calls = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
  const int waits = argc < 3;
  ompl_team* team = NULL;
  ompl_request* request = NULL;
  if (ompl_init() != OMPL_OK || ompl_team_world(&team) != OMPL_OK) return 2;
  const uint64_t ranks = (uint64_t)ompl_size();
  for (long call = 0; call < calls; ++call) {
    uint64_t values[8], sums[8];
    for (uint64_t i = 0; i < 8; ++i) values[i] = (uint64_t)ompl_rank() * (i + 1) + (uint64_t)call;
    if (ompl_allreduce(team, values, sums, 8, OMPL_UINT64, OMPL_SUM, NULL, waits ? NULL : &request) !=
        OMPL_OK)
      return 3;
    if (ompl_request_wait(OMPL_CTX_DEFAULT, &request, OMPL_FOREVER) != OMPL_OK) return 3;
    for (uint64_t i = 0; i < 8; ++i) {
      const uint64_t expected = ranks * (ranks - 1) / 2 * (i + 1) + ranks * (uint64_t)call;
      if (sums[i] == expected) continue;
      fprintf(stderr, "call %ld: sum %d is wrong\n", call, (int)i);
      return 4;
    }
  }
  return ompl_finalize() == OMPL_OK ? 0 : 1;
}
