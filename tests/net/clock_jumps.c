/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a program, it makes the time of day jump: by 11 days forward and back, 20 times a second. Clocks that the system
 * promises never to jump are left alone. Of the C library's functions, so that calls of the system by other ways see no jumps.
 */
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { kJump = 1000000 /* seconds */, kOftenNs = 50000000 };

static long jump(void) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (now.tv_sec * (1000000000 / kOftenNs) + now.tv_nsec / kOftenNs) % 2 != 0 ? kJump : -kJump;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += jump();
  return (int)result;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  struct timespec precise;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (out != NULL) *out = precise.tv_sec;
  return precise.tv_sec;
}
