/* SPDX-License-Identifier: BSD-3-Clause
 * queue.c: a queue on PE 0 into which all PEs put and from which all take, without locks. A ticket says which place; a number in
 * the place, whose turn it is there (D. Vyukov's bounded queue).
 *
 *     oshcc -O2 queue.c -o queue && oshrun -n 4 ./queue
 */
#include <shmem.h>
#include <stdio.h>

enum { kPlaces = 64, kItems = 500 }; /* of a PE */
static uint64_t head, tail, turns[kPlaces], values[kPlaces];
static long taken_sum, all_sum;

static void wait_for_turn(uint64_t place, uint64_t turn) {
  while (shmem_atomic_fetch(&turns[place], 0) != turn) {
  }
}

static void put(uint64_t value) {
  const uint64_t ticket = shmem_atomic_fetch_inc(&tail, 0), place = ticket % kPlaces;
  wait_for_turn(place, 2 * (ticket / kPlaces)); /* it is empty */
  shmem_atomic_set(&values[place], value, 0);
  shmem_quiet();
  shmem_atomic_inc(&turns[place], 0);
}

static uint64_t take(void) {
  const uint64_t ticket = shmem_atomic_fetch_inc(&head, 0), place = ticket % kPlaces;
  wait_for_turn(place, 2 * (ticket / kPlaces) + 1); /* it is full */
  const uint64_t value = shmem_atomic_fetch(&values[place], 0);
  shmem_atomic_inc(&turns[place], 0);
  return value;
}

int main(void) {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  for (int i = 0; i < kItems; ++i) {
    put((uint64_t)(me * kItems + i));
    taken_sum += (long)take();
  }
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &all_sum, &taken_sum, 1);
  const long items = (long)pes * kItems;
  if (me == 0) printf("%ld items went through the queue\n", items);
  shmem_finalize();
  return all_sum != items * (items - 1) / 2;
}
