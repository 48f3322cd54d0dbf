/* SPDX-License-Identifier: BSD-3-Clause
 * What a test program knows of its own calls: a line of JSON for each, which trace_test.py holds against the trace.
 *
 * A line has the fields of a line of ompl_trace_dump that matter. Requests are named by numbers of the program's own:
 * "posts": N, and then "completes": [N, ...]. */
#pragma once

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
#define THREAD_LOCAL thread_local
#else
#define THREAD_LOCAL _Thread_local
#endif

static THREAD_LOCAL FILE* expect_file;
static int rank_, ranks_;

/* Once per thread: the lines go to EXPECT_DIR/rank.thread, threads by the order in which they first call MPI. */
static inline void expect_open(int thread) {
  char path[4096];
  const char* folder = getenv("EXPECT_DIR");
  if (folder == NULL) abort();
  snprintf(path, sizeof path, "%s/%d.%d", folder, rank_, thread);
  expect_file = fopen(path, "w");
  if (expect_file == NULL) abort();
}

__attribute__((format(printf, 2, 3))) static inline void expect(const char* call, const char* format,
                                                                ...) {
  va_list values;
  va_start(values, format);
  fprintf(expect_file, "{\"call\": \"%s\"", call);
  if (format[0] == '"') fprintf(expect_file, ", ");
  vfprintf(expect_file, format, values);
  fprintf(expect_file, "}\n");
  va_end(values);
}

static inline void expect_init(int level) {
  int provided;
  MPI_Init_thread(NULL, NULL, level, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  expect_open(1);
  expect("Init", "\"bytes\": %d", ranks_);
}

static inline void expect_finalize(void) {
  expect("Finalize", "%s", "");
  fclose(expect_file);
  MPI_Finalize();
}

/* A message over MPI_COMM_WORLD. `flags` as JSON: "" or "\"any_tag\"", in the dump's order. */
static inline void expect_message(const char* call, int peer, int tag, long bytes, const char* flags) {
  expect(call, "\"peer\": %d, \"tag\": %d, \"bytes\": %ld, \"comm\": 1, \"flags\": [%s]", peer, tag,
         bytes, flags);
}

/* The same that makes request `number`. */
static inline void expect_post(const char* call, int peer, int tag, long bytes, int number,
                               const char* flags) {
  expect(call, "\"peer\": %d, \"tag\": %d, \"bytes\": %ld, \"comm\": 1, \"posts\": %d, \"flags\": [%s]",
         peer, tag, bytes, number, flags);
}
