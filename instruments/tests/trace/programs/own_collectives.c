/* SPDX-License-Identifier: BSD-3-Clause
 * Collectives of all ranks and of a team: blocking, by requests, with lists, persistent. On 3 ranks. */
#include <omnipgas/coll.h>
#include <stdlib.h>

#define MUST(call)           \
  do {                       \
    if ((call) < 0) abort(); \
  } while (0)

enum { kRanks = 3 };

static void of_all(ompl_team* world) {
  const size_t lengths[kRanks] = {8, 16, 24};
  char sent[64] = {0}, received[256];
  int64_t numbers[10] = {1};
  ompl_request* requests[2] = {NULL, NULL};
  const int me = ompl_team_rank(world);
  MUST(ompl_team_barrier(world, NULL, NULL));
  MUST(ompl_broadcast(world, received, 100, 1, NULL, NULL));
  MUST(ompl_reduce(world, numbers, me == 2 ? received : NULL, 10, OMPL_INT64, OMPL_SUM, 2, NULL, NULL));
  MUST(ompl_allgather(world, sent, received, 16, NULL, NULL));
  MUST(ompl_allgatherv(world, sent, received, lengths, NULL, NULL, NULL));
  MUST(ompl_gatherv(world, sent, lengths[me], received, lengths, NULL, 0, NULL, NULL));
  MUST(ompl_scatterv(world, received, lengths, NULL, sent, lengths[me], 0, NULL, NULL));
  MUST(ompl_alltoall(world, received, received + 128, 8, NULL, NULL));
  MUST(ompl_scan(world, OMPL_IN_PLACE, numbers, 10, OMPL_INT64, OMPL_MAX, NULL, NULL));
  MUST(ompl_allreduce(world, OMPL_IN_PLACE, numbers, 10, OMPL_INT64, OMPL_MAX, NULL, &requests[0]));
  MUST(ompl_request_wait(OMPL_CTX_DEFAULT, &requests[0], OMPL_FOREVER));
  MUST(ompl_broadcast(world, received, 32, 0, NULL, &requests[0]));
  MUST(ompl_broadcast(world, received, 64, 0, NULL, &requests[1]));
  MUST(ompl_request_wait_all(OMPL_CTX_DEFAULT, requests, 2, OMPL_FOREVER));
}

static void of_some(void) {
  const uint32_t members[] = {2, 0};
  ompl_team* team;
  ompl_coll_options often = OMPL_COLL_OPTIONS_INIT;
  ompl_request* again = NULL;
  int32_t number = 1;
  MUST(ompl_team_create(members, 2, NULL, &team));
  MUST(ompl_allreduce(team, OMPL_IN_PLACE, &number, 1, OMPL_INT32, OMPL_SUM, NULL, NULL));
  if (number != 2) abort();
  often.persistent = 1;
  MUST(ompl_broadcast(team, &number, sizeof number, 0, &often, &again));
  MUST(ompl_request_start(OMPL_CTX_DEFAULT, again));
  MUST(ompl_request_wait(OMPL_CTX_DEFAULT, &again, OMPL_FOREVER));
  MUST(ompl_request_free(&again));
  MUST(ompl_team_destroy(team));
}

int main(void) {
  ompl_team* world;
  MUST(ompl_init());
  MUST(ompl_team_world(&world));
  MUST(ompl_team_world(&world));
  of_all(world);
  if (ompl_rank() != 1) of_some();
  MUST(ompl_finalize());
  return 0;
}
