/* SPDX-License-Identifier: BSD-3-Clause
 * cost N: nanoseconds per call of some MPI functions that do next to nothing, medians of rounds of N calls. Run with and
 * without a tracer, the difference is what tracing costs. On one rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRounds = 21 };

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static double median(double* values) {
  qsort(values, kRounds, sizeof *values, compare);
  return values[kRounds / 2];
}

static void send(void) { MPI_Send(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD); }
static void receive(void) {
  MPI_Recv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void post_and_wait(void) {
  MPI_Request request;
  MPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void barrier(void) { MPI_Barrier(MPI_COMM_SELF); }
static void probe(void) {
  int flag;
  MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static const struct {
  const char* name;
  void (*run)(void);
  int calls;
} kCases[] = {{"Send", send, 1},
              {"Recv", receive, 1},
              {"Isend+Wait", post_and_wait, 2},
              {"Barrier", barrier, 1},
              {"Iprobe", probe, 1}};

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 10000;
  MPI_Init(&argc, &argv);
  for (unsigned i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    double times[kRounds];
    for (int round = 0; round < kRounds; ++round) {
      const double begin = MPI_Wtime();
      for (int k = 0; k < n; ++k) kCases[i].run();
      times[round] = (MPI_Wtime() - begin) / n / kCases[i].calls * 1e9;
    }
    printf("{\"call\": \"%s\", \"ns\": %.1f}\n", kCases[i].name, median(times));
  }
  MPI_Finalize();
  return 0;
}
