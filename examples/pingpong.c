/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ping-pong: the program of figure 5 of the OMPL paper, whole and with its misprints mended (the figure
 * leaves out the rank of ompl_put_word). Rank 0 puts a message and raises rank 1's flag; rank 1 waits,
 * puts it back and raises rank 0's. No MPI is needed; a program that uses MPI calls MPI_Init before
 * ompl_init and MPI_Finalize after ompl_finalize, as the figure does.
 *
 *   omplrun -n 2 ./pingpong [bytes [iterations]]
 */
#define _POSIX_C_SOURCE 199309L
#include <time.h>

#include "require.h"

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int main(int argc, char** argv) {
  const size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 8;
  const unsigned iterations = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 10000;
  uint64_t dest_addr, flag_addr;
  unsigned wrong = 0;

  if (size == 0 || iterations == 0) {
    fprintf(stderr, "usage: pingpong [bytes [iterations]], both positive\n");
    return EXIT_FAILURE;
  }
  require(ompl_init(), "ompl_init");
  const int rank = ompl_rank();
  if (ompl_size() != 2) {
    fprintf(stderr, "pingpong needs two ranks: omplrun -n 2 ./pingpong\n");
    return EXIT_FAILURE;
  }
  const uint32_t partner = (uint32_t)(1 - rank);
  require(ompl_alloc(size, &dest_addr), "ompl_alloc");
  require(ompl_alloc(sizeof(uint32_t), &flag_addr), "ompl_alloc");

  unsigned char* message = calloc(size, 1);
  if (message == NULL) return EXIT_FAILURE;
  const volatile unsigned char* inbox = ompl_ptr((uint32_t)rank, dest_addr);
  const uint64_t src_addr = (uint64_t)(uintptr_t)message;

  const double begin = now_us();
  for (unsigned i = 0; i < iterations; ++i) {
    message[size - 1] = (unsigned char)i;
    if (rank == 0) {
      require(ompl_put(src_addr, partner, dest_addr, size), "ompl_put"); /* the data */
      require(ompl_put_word(partner, flag_addr), "ompl_put_word");       /* the flag */
      require(ompl_wait(flag_addr), "ompl_wait");
      wrong += inbox[size - 1] != (unsigned char)i;
    } else {
      require(ompl_wait(flag_addr), "ompl_wait");
      wrong += inbox[size - 1] != (unsigned char)i;
      require(ompl_put(src_addr, partner, dest_addr, size), "ompl_put");
      require(ompl_put_word(partner, flag_addr), "ompl_put_word");
    }
  }
  const double one_way = (now_us() - begin) / iterations / 2;

  if (rank == 0)
    printf("%zu bytes: %.3f us one way, %.1f MB/s\n", size, one_way, (double)size / one_way);
  if (wrong > 0) fprintf(stderr, "rank %d: %u messages arrived damaged\n", rank, wrong);
  free(message);
  require(ompl_finalize(), "ompl_finalize");
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
