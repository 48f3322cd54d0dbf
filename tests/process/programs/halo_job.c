/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of ranks that add up what they have heard: after as many exchanges as there are ranks each knows the sum of
 * all numbers. By every strategy, through the shared library, in processes; those by MPI if HALO_MPI is defined.
 */
#ifdef HALO_MPI
#include <mpi.h>
#endif
#include <omnipgas/halo.h>
#include <stdio.h>

static const char* failed;

static int check(int code, const char* what) {
  if (code != OMPL_OK && failed == NULL) failed = what;
  return code;
}

static double sum_around(int strategy, uint32_t rank, uint32_t size) {
  const int64_t limit = 20000000000; /* ns */
  ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
  ompl_halo_neighbor neighbors[2] = {{0}};
  size_t count = size > 2 ? 2 : 1;
  config.strategy = strategy;
  config.length = 1;
  neighbors[0].rank = (rank + 1) % size; /* what comes from the left goes on to the right */
  neighbors[0].send_count = 1;
  neighbors[count - 1].rank = (rank + size - 1) % size;
  neighbors[count - 1].receive_count = 1;
  ompl_halo* halo = NULL;
  if (check(ompl_halo_create(&config, neighbors, count, &halo), "create")) return -1;
  double sum = 0, passing = rank + 1;
  for (uint32_t step = 0; step < size && failed == NULL; ++step) {
    const void* vectors[1] = {&passing};
    sum += passing;
    if (check(ompl_halo_start(OMPL_CTX_DEFAULT, halo, vectors, limit), "start")) break;
    if (check(ompl_halo_wait(OMPL_CTX_DEFAULT, halo, limit), "wait")) break;
    const double* heard = ompl_halo_data(halo, count - 1, 0);
    if ((uintptr_t)heard % 64 != 0) failed = "where data lie";
    passing = *heard;
  }
  check(ompl_halo_destroy(halo), "destroy");
  return sum;
}

/* The ring again, until the halo has chosen, and on. Each exchange carries its own number. Rank 0 prints what was measured. */
static void choose(uint32_t rank, uint32_t size) {
  const int64_t limit = 20000000000; /* ns */
  ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
  ompl_halo_neighbor neighbors[2] = {{0}};
  const size_t count = size > 2 ? 2 : 1, left = count - 1;
  config.strategy = OMPL_HALO_AUTO;
  neighbors[0].rank = (rank + 1) % size;
  neighbors[0].send_count = 1000;
  neighbors[left].rank = (rank + size - 1) % size;
  neighbors[left].receive_count = 1000;
  ompl_halo* halo = NULL;
  if (check(ompl_halo_create(&config, neighbors, count, &halo), "create")) return;
  static double numbers[1000];
  const void* vectors[1] = {numbers};
  for (int step = 0; step < 200 && failed == NULL; ++step) {
    for (int i = 0; i < 1000; ++i) numbers[i] = step * 1000 + i + 0.001 * rank;
    if (check(ompl_halo_start(OMPL_CTX_DEFAULT, halo, vectors, limit), "start")) break;
    if (check(ompl_halo_wait(OMPL_CTX_DEFAULT, halo, limit), "wait")) break;
    const double* heard = ompl_halo_data(halo, left, 0);
    for (int i = 0; i < 1000; ++i)
      if (heard[i] != step * 1000 + i + 0.001 * neighbors[left].rank) failed = "what was heard";
  }
  char text[1000];
  ompl_halo_describe(halo, text, sizeof text);
  if (rank == 0) fputs(text, stdout);
  check(ompl_halo_destroy(halo), "destroy");
}

int main(void) {
  ompl_halo* none = NULL;
  if (ompl_halo_create(NULL, NULL, 0, &none) != OMPL_ERR_STATE) failed = "a halo before ompl_init";
#ifdef HALO_MPI
  const int last = OMPL_HALO_MPI_PUT;
  int level = 0;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
#else
  const int last = OMPL_HALO_ACKED;
#endif
  if (check(ompl_init(), "ompl_init")) return 1;
  const uint32_t rank = (uint32_t)ompl_rank(), size = (uint32_t)ompl_size();
  const double expected = 0.5 * size * (size + 1.0);
  for (int strategy = OMPL_HALO_DOUBLE_BUFFER; strategy <= last && failed == NULL; ++strategy) {
    const int rounds = strategy > OMPL_HALO_ACKED ? 5 : 50; /* MPI makes a window in milliseconds */
    for (int round = 0; round < rounds && failed == NULL; ++round) {
      if (sum_around(strategy, rank, size) != expected && failed == NULL) failed = "the sum";
    }
  }
  if (failed == NULL) choose(rank, size);
  if (failed != NULL) fprintf(stderr, "rank %u: %s: %s\n", rank, failed, ompl_error_detail());
  check(ompl_finalize(), "ompl_finalize");
#ifdef HALO_MPI
  MPI_Finalize();
#endif
  return failed == NULL ? 0 : 1;
}
