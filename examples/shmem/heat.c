/* SPDX-License-Identifier: BSD-3-Clause
 * heat.c: heat on a rod, explicit scheme. Each PE has a piece of it and puts its outermost cells into the neighbours' pieces,
 * with a signal that says which step they are of.
 *
 *     oshcc -O2 heat.c -o heat -lm && oshrun -n 4 ./heat
 */
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCells = 1000, kSteps = 2000 }; /* of a PE */
static uint64_t from_left, from_right; /* steps whose cells have come */
static double
    halo[2][2]; /* by parity of the step: the left neighbour's last cell, the right one's first */
static double *now, *next, sum, local_sum; /* the piece */

static void exchange(int step, int left, int right) {
  double* place = halo[step % 2];
  const uint64_t number = (uint64_t)step + 1;
  if (left >= 0)
    shmem_double_put_signal(&place[1], &now[0], 1, &from_right, number, SHMEM_SIGNAL_SET, left);
  if (right >= 0)
    shmem_double_put_signal(&place[0], &now[kCells - 1], 1, &from_left, number, SHMEM_SIGNAL_SET,
                            right);
  if (left >= 0) shmem_signal_wait_until(&from_left, SHMEM_CMP_GE, number);
  if (right >= 0) shmem_signal_wait_until(&from_right, SHMEM_CMP_GE, number);
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  const int left = me - 1, right = me + 1 < pes ? me + 1 : -1;
  now = malloc(kCells * sizeof *now);
  next = malloc(kCells * sizeof *next);
  for (int i = 0; i < kCells; ++i) now[i] = me == 0 && i < 100 ? 1 : 0;
  shmem_barrier_all();
  for (int step = 0; step < kSteps; ++step) {
    exchange(step, left, right);
    const double* place = halo[step % 2];
    for (int i = 0; i < kCells; ++i) {
      const double before = i > 0       ? now[i - 1]
                            : left >= 0 ? place[0]
                                        : now[0]; /* nothing leaves the rod */
      const double behind = i + 1 < kCells ? now[i + 1] : right >= 0 ? place[1] : now[i];
      next[i] = now[i] + 0.4 * (before - 2 * now[i] + behind);
    }
    double* swapped = now;
    now = next;
    next = swapped;
  }
  for (int i = 0; i < kCells; ++i) local_sum += now[i];
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &local_sum, 1);
  if (me == 0) printf("heat in the rod: %.9f\n", sum);
  const int wrong = fabs(sum - 100) > 1e-6;
  shmem_finalize();
  return wrong;
}
