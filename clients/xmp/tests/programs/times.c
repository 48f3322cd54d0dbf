/* SPDX-License-Identifier: BSD-3-Clause */
/* XMP/C, 2 images: medians of nanoseconds of puts, gets, posts and synchronisation; a line "name value" for each. */
#include <stdio.h>
#include <stdlib.h>
#include <xmp.h>

#define LARGE 65536
#define BATCHES 11

#pragma xmp nodes p[2]
char there[LARGE]:[*], here[LARGE]:[*];
double samples[BATCHES];

int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void report(const char *name, int me) {
  qsort(samples, BATCHES, sizeof(double), by_value);
  if (me == 0) printf("%s %.1f\n", name, samples[BATCHES / 2]);
  xmp_sync_all(NULL);
}

void put_times(const char *name, int size, int count, int me) {
  for (int batch = 0; batch < BATCHES; batch++) {
    double begin = xmp_wtime();
    if (me == 0)
      for (int i = 0; i < count; i++) {
        there[0:size]:[1] = here[0:size];
        xmp_sync_memory(NULL);
      }
    samples[batch] = (xmp_wtime() - begin) * 1e9 / count;
  }
  report(name, me);
}

void get_times(const char *name, int size, int count, int me) {
  for (int batch = 0; batch < BATCHES; batch++) {
    double begin = xmp_wtime();
    if (me == 0)
      for (int i = 0; i < count; i++) here[0:size] = there[0:size]:[1];
    samples[batch] = (xmp_wtime() - begin) * 1e9 / count;
  }
  report(name, me);
}

/* One way of a ping-pong; with data, a put before each post. */
void post_times(const char *name, int size, int count, int me) {
  for (int batch = 0; batch < BATCHES; batch++) {
    xmp_sync_all(NULL);
    double begin = xmp_wtime();
    for (int i = 0; i < count; i++) {
      if (me == 0) {
        if (size > 0) there[0:size]:[1] = here[0:size];
#pragma xmp post (p[1], 1)
#pragma xmp wait (p[1], 1)
      } else {
#pragma xmp wait (p[0], 1)
        if (size > 0) there[0:size]:[0] = here[0:size];
#pragma xmp post (p[0], 1)
      }
    }
    samples[batch] = (xmp_wtime() - begin) * 1e9 / count / 2;
  }
  report(name, me);
}

void sync_times(int count, int me) {
  for (int batch = 0; batch < BATCHES; batch++) {
    double begin = xmp_wtime();
    for (int i = 0; i < count; i++) xmp_sync_all(NULL);
    samples[batch] = (xmp_wtime() - begin) * 1e9 / count;
  }
  report("sync_all", me);
}

int main() {
  int me = xmpc_this_image();
  put_times("put_8", 8, 300, me);
  put_times("put_4096", 4096, 300, me);
  put_times("put_65536", LARGE, 50, me);
  get_times("get_8", 8, 300, me);
  get_times("get_4096", 4096, 300, me);
  get_times("get_65536", LARGE, 50, me);
  post_times("post_wait", 0, 60, me);
  post_times("put_post_wait_8", 8, 60, me);
  sync_times(60, me);
  return 0;
}
