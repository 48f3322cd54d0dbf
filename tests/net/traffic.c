/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verified traffic for a network that is disturbed: traffic SECONDS THREADS BYTES [MESSAGES]. Each thread of each rank
 * is part of a ring with the same thread of the others, around which a message travels; its length and its contents
 * change with every round, and each rank looks at every byte. It goes on for that time and until all ranks together
 * have had that many messages, and until the file HOSTS_DISTURBED of the environment exists (hosts.py). Rank 0 says
 * "going" after the first round, and every 1,000th round of its first ring, so that a slow run differs from one that hangs.
 *
 * Exit code 0: all was right; 1: wrong data; 3: a call reported an error, which is printed.
 */
#include <inttypes.h>
#include <omnipgas/ompl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kWrong = 1, kError = 3, kLast = 1 };

struct ring {
  pthread_t thread;
  uint64_t message, flag; /* the same offsets on all ranks */
  uint64_t number;
};

static size_t g_words; /* the longest message */
static time_t g_end;
static size_t g_rounds; /* at least, of each ring */
static const char* g_disturbed;

static void require(int result, const char* what) {
  if (result >= 0) return;
  fprintf(stderr, "traffic: %s: %s (%s)\n", what, ompl_strerror(result), ompl_error_detail());
  _Exit(kError); /* the other threads may hang in a call */
}

static int may_end(uint64_t round) {
  return round >= g_rounds && time(NULL) >= g_end &&
         (g_disturbed == NULL || access(g_disturbed, F_OK) == 0);
}

static uint64_t word(uint64_t ring, uint64_t round, uint64_t index) {
  return (ring * 0x9e3779b97f4a7c15U ^ round) * 0xbf58476d1ce4e5b9U + index * 0x94d049bb133111ebU;
}
/* In words, with the first, which says the round and whether it is the last. */
static size_t length(uint64_t round) { return 1 + round * 7919 % g_words; }

static void pass_on(const struct ring* ring, uint64_t* buffer, uint64_t first) {
  const uint32_t next = ((uint32_t)ompl_rank() + 1) % (uint32_t)ompl_size();
  const size_t count = length(first >> 1);
  buffer[0] = first;
  for (size_t i = 1; i < count; ++i) buffer[i] = word(ring->number, first >> 1, i);
  require(ompl_put_signal((uint64_t)(uintptr_t)buffer, next, ring->message, 8 * count, ring->flag),
          "ompl_put_signal");
}

/* Returns the first word of the message, which must be of this round. */
static uint64_t receive(const struct ring* ring, uint64_t round) {
  const uint64_t* message = ompl_ptr((uint32_t)ompl_rank(), ring->message);
  require(ompl_wait(ring->flag), "ompl_wait");
  uint64_t wrong = message[0] >> 1 != round;
  for (size_t i = 1; i < length(round); ++i) wrong += message[i] != word(ring->number, round, i);
  if (wrong != 0) {
    fprintf(stderr, "traffic: rank %d: %" PRIu64 " wrong words in round %" PRIu64 "\n", ompl_rank(),
            wrong, round);
    _Exit(kWrong);
  }
  return message[0];
}

static void* go_round(void* argument) {
  const struct ring* ring = argument;
  uint64_t* buffer = malloc(8 * g_words);
  if (buffer == NULL) _Exit(kError);
  uint64_t round = 1, first = 0;
  for (; (first & kLast) == 0; ++round) {
    if (ompl_rank() == 0) {
      pass_on(ring, buffer, round << 1 | (may_end(round) ? kLast : 0));
      first = receive(ring, round);
      if (round == 1 && ring->number == 0) puts("going");
      if (round % 1000 == 0 && ring->number == 0) printf("round %" PRIu64 "\n", round);
    } else {
      first = receive(ring, round);
      pass_on(ring, buffer, first);
    }
  }
  free(buffer);
  if (ompl_rank() == 0) printf("ring %" PRIu64 ": %" PRIu64 " rounds\n", ring->number, round - 1);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) return fprintf(stderr, "traffic SECONDS THREADS BYTES [MESSAGES]\n"), 2;
  const size_t threads = strtoul(argv[2], NULL, 10);
  g_words = strtoul(argv[3], NULL, 10) / 8 + 1;
  g_disturbed = getenv("HOSTS_DISTURBED");
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct ring* rings = calloc(threads, sizeof *rings);
  if (rings == NULL) return kError;
  require(ompl_init(), "ompl_init");
  for (size_t i = 0; i < threads; ++i) {
    rings[i].number = i;
    require(ompl_alloc(8 * g_words, &rings[i].message), "ompl_alloc");
    require(ompl_alloc(sizeof(uint32_t), &rings[i].flag), "ompl_alloc");
  }
  if (argc == 5) g_rounds = strtoul(argv[4], NULL, 10) / (threads * (size_t)ompl_size()) + 1;
  g_end = time(NULL) + (time_t)strtoul(argv[1], NULL, 10);
  for (size_t i = 0; i < threads; ++i)
    if (pthread_create(&rings[i].thread, NULL, go_round, &rings[i]) != 0) return kError;
  for (size_t i = 0; i < threads; ++i) pthread_join(rings[i].thread, NULL);
  require(ompl_finalize(), "ompl_finalize");
  free(rings);
  return EXIT_SUCCESS;
}
