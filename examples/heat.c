/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heat on a ring: every rank owns CELLS cells and needs one cell of either neighbour in each step. It puts
 * its two edge cells into the neighbours' halos and raises their flags; no barrier in the loop. Halos come
 * in two sets, used in turn: a neighbour may be one step ahead, but never two, since its next step needs
 * our flag. The flags are counters, so running ahead loses nothing.
 *
 *   omplrun -n 4 ./heat [steps]
 */
#include <math.h>

#include "require.h"

enum { CELLS = 64, LEFT = 0, RIGHT = 1 };

struct shared { /* what the neighbours write, at the same offset on every rank */
  double halo[2][2];
  uint32_t flag[2];
};

static const double kPi = 3.14159265358979323846;

int main(int argc, char** argv) {
  const unsigned steps = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 500;
  const double r = 0.25; /* diffusion number */
  uint64_t base;
  double u[CELLS + 2], next[CELLS + 2], worst = 0;

  require(ompl_init(), "ompl_init");
  const int rank = ompl_rank(), size = ompl_size();
  const uint32_t neighbour[2] = {(uint32_t)((rank + size - 1) % size), (uint32_t)((rank + 1) % size)};
  require(ompl_alloc(sizeof(struct shared), &base), "ompl_alloc");
  const struct shared* mine = ompl_ptr((uint32_t)rank, base);

  /* One cosine wave around the ring; the scheme damps it by a known factor per step. */
  const double angle = 2 * kPi / ((double)size * CELLS), factor = 1 - 2 * r * (1 - cos(angle));
  for (int i = 1; i <= CELLS; ++i) u[i] = cos(angle * (rank * CELLS + i));

  for (unsigned step = 0; step < steps; ++step) {
    const unsigned set = step % 2;
    for (int side = LEFT; side <= RIGHT;
         ++side) { /* my left edge is the right halo of my left neighbour */
      const double* edge = side == LEFT ? &u[1] : &u[CELLS];
      const uint64_t halo =
          base + offsetof(struct shared, halo) + (set * 2 + (1U - (unsigned)side)) * sizeof(double);
      const uint64_t flag =
          base + offsetof(struct shared, flag) + (1U - (unsigned)side) * sizeof(uint32_t);
      require(ompl_put((uint64_t)(uintptr_t)edge, neighbour[side], halo, sizeof *edge), "ompl_put");
      require(ompl_put_word(neighbour[side], flag), "ompl_put_word");
    }
    for (unsigned side = LEFT; side <= RIGHT; ++side)
      require(ompl_wait(base + offsetof(struct shared, flag) + side * sizeof(uint32_t)), "ompl_wait");
    u[0] = mine->halo[set][LEFT];
    u[CELLS + 1] = mine->halo[set][RIGHT];
    for (int i = 1; i <= CELLS; ++i) next[i] = u[i] + r * (u[i - 1] - 2 * u[i] + u[i + 1]);
    for (int i = 1; i <= CELLS; ++i) u[i] = next[i];
  }

  for (int i = 1; i <= CELLS; ++i)
    worst = fmax(worst, fabs(u[i] - pow(factor, steps) * cos(angle * (rank * CELLS + i))));
  printf("rank %d: %u steps, farthest from the exact solution by %.1e\n", rank, steps, worst);
  require(ompl_finalize(), "ompl_finalize");
  return worst < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
