// SPDX-License-Identifier: BSD-3-Clause
/* Nonblocking collectives of one double, one after the other, each waited for at once. Without code of this project.
 *
 *   mpicc async_collectives.c -o async_collectives
 *   mpiexec -n 2 async_collectives allgather|allreduce|alltoall|broadcast|reduce-scatter COUNT
 *                                   says "COUNT of NAME are right"
 *
 * Intel MPI 2021.18, 2 ranks on two busy cores:
 *   without a thread of its own                3,000 of each are right
 *   I_MPI_ASYNC_PROGRESS=1                     alltoall ended in 4 of 10 runs of 300 to 3,000, reduce-scatter in 1 of 6 and, with
 *                                              I_MPI_ADJUST_IREDUCE_SCATTER_BLOCK=2, within a second: "Error in system call
 *                                              pthread_mutex_lock: Invalid argument", then "MPI_Barrier(MPI_COMM_WORLD) failed
 *                                              ... Invalid communicator". The others were right in 4 to 8
 *                                              runs; allgather ended so in `omni overlap`.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 64 };

static int rank, ranks;
static double out[MOST_RANKS], in[MOST_RANKS];

/* What rank `from` has for rank `to` in a round. */
static double term(int round, int from, int to) { return round + 100 * from + to; }

static MPI_Request start(const char* name) {
  MPI_Request request = MPI_REQUEST_NULL;
  const MPI_Comm all = MPI_COMM_WORLD;
  if (strcmp(name, "allgather") == 0)
    MPI_Iallgather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, all, &request);
  if (strcmp(name, "allreduce") == 0) MPI_Iallreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, all, &request);
  if (strcmp(name, "alltoall") == 0)
    MPI_Ialltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, all, &request);
  if (strcmp(name, "broadcast") == 0) MPI_Ibcast(in, 1, MPI_DOUBLE, 0, all, &request);
  if (strcmp(name, "reduce-scatter") == 0)
    MPI_Ireduce_scatter_block(out, in, 1, MPI_DOUBLE, MPI_SUM, all, &request);
  return request;
}

/* What a rank must have in place `at` afterwards. */
static double expected(const char* name, int round, int at) {
  double sum = 0;
  if (strcmp(name, "allgather") == 0) return term(round, at, 0);
  if (strcmp(name, "alltoall") == 0) return term(round, at, rank);
  if (strcmp(name, "broadcast") == 0) return term(round, 0, 0);
  for (int from = 0; from < ranks; ++from)
    sum += term(round, from, strcmp(name, "allreduce") == 0 ? 0 : rank);
  return sum;
}

int main(int argc, char** argv) {
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3 || ranks > MOST_RANKS) MPI_Abort(MPI_COMM_WORLD, 2);
  const char* const name = argv[1];
  const int count = atoi(argv[2]);
  const int places = strcmp(name, "allgather") == 0 || strcmp(name, "alltoall") == 0 ? ranks : 1;
  for (int round = 0; round < count; ++round) {
    for (int to = 0; to < ranks; ++to) out[to] = term(round, rank, to);
    in[0] = out[0];
    MPI_Request request = start(name);
    if (request == MPI_REQUEST_NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int at = 0; at < places; ++at) {
      if (in[at] == expected(name, round, at)) continue;
      printf("rank %d: %s %d gave %g\n", rank, name, round, in[at]);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  if (rank == 0) printf("%d of %s are right\n", count, name);
  MPI_Finalize();
  return 0;
}
