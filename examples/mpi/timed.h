// SPDX-License-Identifier: BSD-3-Clause
// The timed part of these programs: between two barriers, marked for `omni model` by MPI_Pcontrol.
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double began;

static inline void begin_timed(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  began = MPI_Wtime();
  MPI_Pcontrol(1);
}

// Seconds of the slowest rank, the same at all ranks.
static inline double end_timed(void) {
  MPI_Pcontrol(0);
  double mine = MPI_Wtime() - began, slowest;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

// The end of the program: `right` as this rank sees it. Rank 0 prints the one line.
static inline int conclude(const char* what, double seconds, int right) {
  int rank, all;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (rank == 0) printf("%s seconds=%.6f %s\n", what, seconds, all ? "right" : "WRONG");
  MPI_Finalize();
  return all ? EXIT_SUCCESS : EXIT_FAILURE;
}

// An argument that is a whole number from `least` on, or what it is without one.
static inline int argument(int argc, char** argv, int at, int least, int otherwise) {
  if (argc <= at) return otherwise;
  char* end;
  long value = strtol(argv[at], &end, 10);
  if (*end == '\0' && end != argv[at] && value >= least && value <= 1 << 30) return (int)value;
  fprintf(stderr, "%s: argument %d is %s; it must be a whole number from %d on\n", argv[0], at,
          argv[at], least);
  MPI_Abort(MPI_COMM_WORLD, 2);
  return 0;
}
