// SPDX-License-Identifier: BSD-3-Clause
// Preloaded into a program that is not traced: says how long it ran from the end of MPI_Init to the begin of
// MPI_Finalize, and between MPI_Pcontrol(1) and MPI_Pcontrol(0). Knows no MPI's handles, so one serves all.
//
// Each process writes a file of its own into OMPL_TIMER_DIR: {"seconds": ..., "region_seconds": ... or null}.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double began = -1;        // the end of MPI_Init
static double marked = -1;       // the sum of the marked parts; less than 0: there is none
static double marked_from = -1;  // the begin of the present one
static int depth;                // MPI calls itself

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void* find(const char* name) {
  void* at = dlsym(RTLD_NEXT, name);
  if (at != NULL) return at;
  fprintf(stderr, "ompl timer: the program calls MPI, but there is no %s behind it\n", name);
  abort();
}

static void mark(int begins) {
  if (marked_from >= 0) marked = (marked < 0 ? 0 : marked) + now() - marked_from;
  marked_from = begins ? now() : -1;
}

static void write_times(void) {
  const char* folder = getenv("OMPL_TIMER_DIR");
  if (folder == NULL || began < 0) return;
  double seconds = now() - began;
  char host[64] = "", path[4096];
  gethostname(host, sizeof host - 1);
  snprintf(path, sizeof path, "%s/%s.%ld.json", folder, host, (long)getpid());
  FILE* file = fopen(path, "w");
  if (file == NULL) {
    fprintf(stderr, "ompl timer: %s cannot be written\n", path);
    return;
  }
  fprintf(file, "{\"seconds\": %.9f, \"region_seconds\": ", seconds);
  fprintf(file, marked < 0 ? "null}\n" : "%.9f}\n", marked);
  fclose(file);
}

// NOLINTBEGIN(readability-identifier-naming): the names are MPI's.

int MPI_Init(int* argc, char*** argv) {
  ++depth;
  int code = ((int (*)(int*, char***))find("PMPI_Init"))(argc, argv);
  if (--depth == 0) began = now();
  return code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  ++depth;
  int code =
      ((int (*)(int*, char***, int, int*))find("PMPI_Init_thread"))(argc, argv, required, provided);
  if (--depth == 0) began = now();
  return code;
}

int MPI_Finalize(void) {
  if (depth++ == 0) write_times();
  int code = ((int (*)(void))find("PMPI_Finalize"))();
  --depth;
  return code;
}

int MPI_Pcontrol(const int level, ...) {
  if (level == 0 || level == 1) mark(level);
  return 0;  // MPI_SUCCESS
}

// Fortran's functions call these.
int PMPI_Init(int* argc, char*** argv) __attribute__((alias("MPI_Init")));
int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided)
    __attribute__((alias("MPI_Init_thread")));
int PMPI_Finalize(void) __attribute__((alias("MPI_Finalize")));
int PMPI_Pcontrol(const int level, ...) __attribute__((alias("MPI_Pcontrol")));

// NOLINTEND(readability-identifier-naming)
