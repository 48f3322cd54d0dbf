/* SPDX-License-Identifier: BSD-3-Clause */
/* XMP/C: threads of an image put to parts of a coarray at once, many times; then all images look. Whole rows: the compiler makes
 * calls of them that keep nothing in static variables. */
#include <stdio.h>
#include <xmp.h>

#define THREADS 4
#define LENGTH 500
#define ROUNDS 200

int pthread_create(unsigned long *thread, const void *attributes, void *(*code)(void *), void *argument);
int pthread_join(unsigned long thread, void **result);

#pragma xmp nodes p[*]
int from[THREADS][LENGTH]:[*];
int to[THREADS][LENGTH]:[*];
int numbers[THREADS];
int next, bad = 0;

void *put_rows(void *argument) {
  int t = *(int *)argument;
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < LENGTH; i++) from[t][i] = xmpc_this_image() * 1000000 + t * 100000 + round * 100 + i % 100;
    to[t][0:LENGTH]:[next] = from[t][0:LENGTH];
  }
  return NULL;
}

int main() {
  int me = xmpc_this_image(), size = xmp_num_images(), before = (me + size - 1) % size;
  unsigned long threads[THREADS];
  next = (me + 1) % size;
  for (int t = 0; t < THREADS; t++) {
    numbers[t] = t;
    if (pthread_create(&threads[t], NULL, put_rows, &numbers[t]) != 0) return 1;
  }
  for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
  xmp_sync_all(NULL);
  for (int t = 0; t < THREADS; t++)
    for (int i = 0; i < LENGTH; i++)
      bad += to[t][i] != before * 1000000 + t * 100000 + (ROUNDS - 1) * 100 + i % 100;
#pragma xmp reduction(+:bad)
  if (me == 0) printf(bad == 0 ? "PASS\n" : "FAIL\n");
  return bad != 0;
}
