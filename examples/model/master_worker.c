/* SPDX-License-Identifier: BSD-3-Clause
 * master_worker TASKS: rank 0 hands out tasks of different length, and takes results from whoever has one. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kTask = 1, kResult = 2 };

/* Counts the steps of the Collatz sequence: more work for some numbers than for others. */
static long work(long task) {
  long steps = 0;
  for (long from = task; from < task + 2000; ++from)
    for (long at = from; at > 1; ++steps) at = at % 2 == 0 ? at / 2 : 3 * at + 1;
  return steps;
}

static long lead(long tasks, int ranks) {
  long next = 0, sum = 0, result;
  for (int to = 1; to < ranks; ++to, ++next) { /* the first of each; -1: there are no more */
    const long task = next < tasks ? next : -1;
    MPI_Send(&task, 1, MPI_LONG, to, kTask, MPI_COMM_WORLD);
  }
  for (long done = 0; done < tasks; ++done, ++next) {
    MPI_Status status;
    MPI_Recv(&result, 1, MPI_LONG, MPI_ANY_SOURCE, kResult, MPI_COMM_WORLD, &status);
    sum += result;
    const long task = next < tasks ? next : -1;
    MPI_Send(&task, 1, MPI_LONG, status.MPI_SOURCE, kTask, MPI_COMM_WORLD);
  }
  return sum;
}

static void follow(void) {
  for (long task;;) {
    MPI_Recv(&task, 1, MPI_LONG, 0, kTask, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (task < 0) return;
    const long result = work(1 + 2000 * task);
    MPI_Send(&result, 1, MPI_LONG, 0, kResult, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  int rank, ranks, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long tasks = argc > 1 ? atol(argv[1]) : 100;
  if (ranks < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const double begin = MPI_Wtime();
  if (rank == 0) {
    const long sum = lead(tasks, ranks);
    const double seconds = MPI_Wtime() - begin;
    long expected = 0;
    for (long task = 0; task < tasks; ++task) expected += work(1 + 2000 * task);
    wrong = sum != expected;
    printf("%ld tasks in %.6f s: %ld steps%s\n", tasks, seconds, sum, wrong ? ", which is wrong" : "");
  } else {
    follow();
  }
  MPI_Finalize();
  return wrong;
}
