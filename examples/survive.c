/* SPDX-License-Identifier: BSD-3-Clause */
/* survive: a job that goes on after the death of a rank: omplrun --keep-going -n 4 survive. The last rank kills itself; the
 * others notice it, find out who is left, make a team and end with a sum over its members. */
#include <omnipgas/coll.h>
#include <omnipgas/ompl_ext.h>
#include <signal.h>
#include <stdlib.h>

#include "require.h"

static int is_failure(int code) { return code == OMPL_ERR_PEER || code == OMPL_ERR_LINK; }

/* Lets waits block again, and stores the ranks that have not failed, in ascending order; their number. */
static size_t survivors(uint32_t size, uint32_t* left) {
  uint32_t* const failed = malloc(size * sizeof *failed);
  size_t failures = 0, next = 0, count = 0;
  if (failed == NULL) exit(EXIT_FAILURE);
  require(ompl_failure_ack(), "ompl_failure_ack");
  require(ompl_failed_ranks(failed, size, &failures), "ompl_failed_ranks");
  for (uint32_t rank = 0; rank < size; ++rank) {
    if (next < failures && failed[next] == rank) {
      ++next;
    } else {
      left[count++] = rank;
    }
  }
  free(failed);
  return count;
}

int main(void) {
  ompl_team* team = NULL;
  uint64_t flag = 0;
  require(ompl_init(), "ompl_init");
  const uint32_t rank = (uint32_t)require(ompl_rank(), "ompl_rank");
  const uint32_t size = (uint32_t)require(ompl_size(), "ompl_size");
  require(ompl_team_world(&team),
          "ompl_team_world"); /* collectives of all ranks: only possible before a death */
  require(ompl_alloc(sizeof(uint32_t), &flag), "ompl_alloc");
  if (size < 2) {
    fprintf(stderr, "survive: start at least two ranks\n");
    return EXIT_FAILURE;
  }
  if (rank == size - 1) { /* the death would end with an error who is still in ompl_alloc */
    for (uint32_t other = 0; other < size - 1; ++other) require(ompl_wait(flag), "ompl_wait");
    raise(SIGKILL);
  }
  require(ompl_put_word(size - 1, flag), "ompl_put_word");

  int code = ompl_wait(flag); /* nobody signals: the death ends it */
  if (!is_failure(code)) require(code < 0 ? code : OMPL_ERR_STATE, "ompl_wait");

  uint32_t* const left = malloc(size * sizeof *left);
  if (left == NULL) return EXIT_FAILURE;
  uint64_t sum = 0;
  do { /* once more if a member has died meanwhile: every survivor learns of every death, so all come to the same list */
    const size_t count = survivors(size, left);
    sum = rank;
    code = ompl_team_create(left, count, NULL, &team);
    if (code == OMPL_OK)
      code = ompl_allreduce(team, OMPL_IN_PLACE, &sum, 1, OMPL_UINT64, OMPL_SUM, NULL, NULL);
  } while (is_failure(code));
  require(code, "a collective of the survivors");
  printf("rank %u: the survivors' ranks add up to %llu\n", rank, (unsigned long long)sum);
  free(left);

  ompl_team_barrier(
      team, NULL,
      NULL); /* nobody leaves before all have the sum; who leaves first may end it with an error */
  code =
      ompl_finalize(); /* an error, since a rank is missing; what this rank holds is given back all the same */
  return is_failure(code) ? EXIT_SUCCESS : EXIT_FAILURE;
}
