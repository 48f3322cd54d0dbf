/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat in a rod, its ends kept at 0 degrees, by <omnipgas/halo.h>: every rank owns some of the cells and needs one of
 * either neighbour in each step; its inner cells are computed while those travel.
 *
 *   omplrun -n 4 ./heat_halo [steps]
 */
#include <math.h>
#include <omnipgas/halo.h>

#include "require.h"

enum { CELLS = 100 };
struct rod { /* cells 1 .. CELLS of all, or of a rank those that it owns, between two more */
  double now[CELLS + 2], next[CELLS + 2];
};

static void begin(struct rod* rod, size_t first, size_t count) {
  for (size_t i = 1; i <= count; ++i) rod->now[i] = (double)((first + i - 1) * 37 % 101);
}
static void compute(struct rod* rod, size_t from, size_t to) {
  const double* u = rod->now;
  for (size_t i = from; i <= to; ++i) rod->next[i] = u[i] + 0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);
}
static void advance(struct rod* rod, size_t count) {
  for (size_t i = 1; i <= count; ++i) rod->now[i] = rod->next[i];
}

int main(int argc, char** argv) {
  const unsigned steps = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 500;
  static struct rod mine, all;
  ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
  ompl_halo* halo = NULL;

  require(ompl_init(), "ompl_init");
  const uint32_t rank = (uint32_t)ompl_rank(), size = (uint32_t)ompl_size();
  require(size > CELLS ? OMPL_ERR_ARG : OMPL_OK, "more ranks than cells");
  const size_t first = 1 + rank * (size_t)CELLS / size,
               n = 1 + (rank + 1) * (size_t)CELLS / size - first;
  const ompl_halo_neighbor neighbors[] = {
      {.rank = rank - 1, .send_first = 1, .send_count = 1, .receive_first = 0, .receive_count = 1},
      {.rank = rank + 1, .send_first = n, .send_count = 1, .receive_first = n + 1, .receive_count = 1}};
  const size_t count = (rank > 0 ? 1U : 0U) + (rank + 1 < size ? 1U : 0U);
  require(ompl_halo_create(&config, neighbors + (rank == 0), count, &halo), "ompl_halo_create");

  begin(&mine, first, n);
  for (unsigned step = 0; step < steps; ++step) {
    const void* sent[] = {mine.now};
    void* received[] = {mine.now};
    require(ompl_halo_start(OMPL_CTX_DEFAULT, halo, sent, OMPL_FOREVER), "ompl_halo_start");
    compute(&mine, 2, n - 1);
    require(ompl_halo_wait(OMPL_CTX_DEFAULT, halo, OMPL_FOREVER), "ompl_halo_wait");
    for (size_t i = 0; i < count; ++i) require(ompl_halo_unpack(halo, i, received), "ompl_halo_unpack");
    compute(&mine, 1, 1);
    compute(&mine, n, n);
    advance(&mine, n);
  }
  require(ompl_halo_destroy(halo), "ompl_halo_destroy");

  begin(&all, 1, CELLS); /* the same by one process */
  for (unsigned step = 0; step < steps; ++step) {
    compute(&all, 1, CELLS);
    advance(&all, CELLS);
  }
  double worst = 0, sum = 0;
  for (size_t i = 1; i <= n; ++i) {
    worst = fmax(worst, fabs(mine.now[i] - all.now[first + i - 1]));
    sum += mine.now[i] / (double)n;
  }
  printf("rank %u: cells %zu to %zu have %.4f degrees, %s by one process\n", rank, first, first + n - 1,
         sum, worst < 1e-10 ? "as" : "unlike");
  require(ompl_finalize(), "ompl_finalize");
  return worst < 1e-10 ? EXIT_SUCCESS : EXIT_FAILURE;
}
