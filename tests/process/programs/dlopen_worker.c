/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows the library only by name: dlopen_worker LIBRARY. It loads it (RTLD_LOCAL), plays through the
   papers' functions, unloads it, and lets a thread that used it end afterwards. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int (*put)(uint64_t, uint32_t, uint64_t, size_t);
static int (*put_word)(uint32_t, uint64_t);
static int (*wait_for)(uint64_t);
static int (*rank)(void);
static uint64_t data, flag;
static pthread_barrier_t used, unloaded;

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "dlopen_worker: %s\n", what);
  exit(1);
}

static void* play(void* argument) {
  uint64_t ball = 17;
  expect(put((uint64_t)(uintptr_t)&ball, 1 - (uint32_t)rank(), data, sizeof ball) == 0, "put");
  expect(put_word(1 - (uint32_t)rank(), flag) == 0, "put_word");
  expect(wait_for(flag) == 0, "wait");
  pthread_barrier_wait(&used);
  pthread_barrier_wait(&unloaded);
  return argument; /* the thread's context ends now */
}

int main(int argc, char** argv) {
  pthread_t thread;
  void* library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_LOCAL);
  expect(library != NULL, dlerror());
  int (*init)(void) = (int (*)(void))dlsym(library, "ompl_init");
  int (*finalize)(void) = (int (*)(void))dlsym(library, "ompl_finalize");
  int (*alloc)(size_t, uint64_t*) = (int (*)(size_t, uint64_t*))dlsym(library, "ompl_alloc");
  put = (int (*)(uint64_t, uint32_t, uint64_t, size_t))dlsym(library, "ompl_put");
  put_word = (int (*)(uint32_t, uint64_t))dlsym(library, "ompl_put_word");
  wait_for = (int (*)(uint64_t))dlsym(library, "ompl_wait");
  rank = (int (*)(void))dlsym(library, "ompl_rank");
  expect(init && finalize && alloc && put && put_word && wait_for && rank, "a function is missing");
  expect(init() == 0 && alloc(64, &data) == 0 && alloc(8, &flag) == 0, "init and alloc");
  pthread_barrier_init(&used, NULL, 2);
  pthread_barrier_init(&unloaded, NULL, 2);
  expect(pthread_create(&thread, NULL, play, NULL) == 0, "pthread_create");
  pthread_barrier_wait(&used);
  expect(finalize() == 0, "finalize");
  expect(dlclose(library) == 0, "dlclose");
  pthread_barrier_wait(&unloaded);
  expect(pthread_join(thread, NULL) == 0, "pthread_join");
  puts("played");
  return 0;
}
