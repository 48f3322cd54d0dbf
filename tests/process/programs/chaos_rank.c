/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ranks of chaos.py: chaos_rank PHASE AFTER PAGE. They repeat one phase (init, alloc, barrier, puts, collectives, halo or
 * finalize) until the driver asks them to stop or a call fails. PAGE is a file that they and the driver map: what the driver
 * wants, and per rank how far it has come and when. AFTER says what a rank does once a call has failed: "leave" finalizes;
 * "go-on" waits until ompl_failed_ranks() names every rank that was killed, acknowledges that, exchanges signals with all
 * others, and finalizes. Whatever is not as documented is a line on stderr and exit code 1; a failure as documented is 3.
 */
#include <fcntl.h>
#include <omnipgas/coll.h>
#include <omnipgas/halo.h>
#include <omnipgas/ompl_ext.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RANKS = 16, THREADS = 2, LONGEST = 1 << 16, SLACK = 64, FAILED = 3 };
enum { READY = 1, ERROR = 2, KNOWS = 3, WENT_ON = 4, ENDED = 5 };

/* chaos.py reads and writes this by the same layout. Times are those of CLOCK_MONOTONIC in nanoseconds; 0: not yet. */
struct row {
  _Atomic int64_t pid, state, steps, code, error_ns, knows_ns, ended_ns;
  char call[32];
};
struct page {
  _Atomic int64_t go;     /* ranks enter the phase (init and finalize) */
  _Atomic int64_t stop;   /* rank 0 says which step is the last */
  _Atomic int64_t killed; /* a bit for each rank that was killed */
  _Atomic int64_t last[THREADS];
  struct row rows[MOST_RANKS];
};

static struct page* page;
static struct row* mine;
static uint32_t rank, size;
static uint64_t data, flags, farewells;

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void wrong(const char* what) {
  fprintf(stderr, "wrong: rank %u: %s; last error: %s\n", rank, what, ompl_error_detail());
  _Exit(1);
}

static void expect(int holds, const char* what) {
  if (!holds) wrong(what);
}

/* The first failure of any thread. Returns the code. */
static int failed(int code, const char* call) {
  int64_t none = 0;
  if (code >= 0) return code;
  if (atomic_compare_exchange_strong(&mine->code, &none, code)) {
    strncpy(mine->call, call, sizeof mine->call - 1);
    atomic_store(&mine->error_ns, now_ns());
    atomic_store(&mine->state, ERROR);
  }
  return code;
}

static void nap(void) {
  const struct timespec moment = {0, 100000};
  nanosleep(&moment, NULL);
}

static void await_go(void) {
  atomic_store(&mine->state, READY);
  while (!atomic_load(&page->go)) nap();
}

/* Whether step number `step` of a thread is still to be done. Ranks are less than SLACK steps apart, and rank 0 says which is
 * the last one before it does the one at which it was told. */
static int goes_on(unsigned thread, int64_t step) {
  if (rank == 0 && atomic_load(&page->stop) && atomic_load(&page->last[thread]) == 0)
    atomic_store(&page->last[thread], step + SLACK);
  const int64_t last = atomic_load(&page->last[thread]);
  atomic_fetch_add(&mine->steps, 1);
  return last == 0 || step < last;
}

/* ---- Phases: OMPL_OK once asked to stop, or what a call failed with ---- */

static int allocate(int64_t step) {
  uint64_t offset = 0;
  const size_t length = (size_t)1 << (6 + step % 12);
  int code = failed(ompl_alloc(length, &offset), "ompl_alloc");
  if (code < 0) return code;
  unsigned char* memory = ompl_ptr(rank, offset);
  expect(memory[0] == 0 && memory[length - 1] == 0, "new memory is not zero");
  memset(memory, 1, length);
  return failed(ompl_free(offset), "ompl_free");
}

static int meet(int64_t step) {
  (void)step;
  return failed(ompl_barrier(), "ompl_barrier");
}

static int reduce(int64_t step) {
  static unsigned char sent[4096], gathered[MOST_RANKS * 4096];
  ompl_team* world = NULL;
  int64_t sum = 0, own = step + rank;
  int code = failed(ompl_team_world(&world), "ompl_team_world");
  if (code >= 0)
    code = failed(ompl_allreduce(world, &own, &sum, 1, OMPL_INT64, OMPL_SUM, NULL, NULL),
                  "ompl_allreduce");
  if (code < 0) return code;
  expect(sum == (int64_t)size * step + (int64_t)size * (size - 1) / 2, "a sum is wrong");
  memset(sent, (int)(step + rank), sizeof sent);
  const size_t length = (size_t)(step * 97 % 4096 + 1);
  code = failed(ompl_allgather(world, sent, gathered, length, NULL, NULL), "ompl_allgather");
  for (uint32_t from = 0; code >= 0 && from < size; ++from)
    expect(gathered[from * length] == (unsigned char)(step + from), "what was gathered is wrong");
  if (code >= 0)
    code = failed(ompl_broadcast(world, sent, length, (uint32_t)(step % size), NULL, NULL),
                  "ompl_broadcast");
  if (code >= 0)
    expect(sent[length - 1] == (unsigned char)(step + step % size), "what was broadcast is wrong");
  return code;
}

static int repeat(int (*what)(int64_t step)) {
  int code = OMPL_OK;
  for (int64_t step = 0; code >= 0 && goes_on(0, step); ++step) code = what(step);
  return code;
}

/* Where `from` puts to, in the two steps that may be under way; and the flag that it signals. */
static uint64_t place(uint32_t from, unsigned thread, int64_t step) {
  return data + (((uint64_t)from * THREADS + thread) * 2 + (uint64_t)(step % 2)) * LONGEST;
}
static uint64_t flag(uint32_t from, unsigned thread) {
  return flags + ((uint64_t)from * THREADS + thread) * sizeof(uint32_t);
}
static size_t length_of(uint32_t from, unsigned thread, int64_t step) {
  const uint64_t mixed = ((uint64_t)step * 64 + from * THREADS + thread) * 0x9E3779B97F4A7C15u >> 40;
  return mixed % 3 == 0 ? mixed % LONGEST + 1 : mixed % 200 + 1;
}

/* Every thread puts to the same thread of every rank, and looks at what they put. */
static int storm(unsigned thread) {
  unsigned char* source = malloc(LONGEST);
  int code = OMPL_OK;
  for (int64_t step = 0; code >= 0 && goes_on(thread, step); ++step) {
    const size_t length = length_of(rank, thread, step);
    memset(source, (int)(step + rank), length);
    for (uint32_t to = 0; code >= 0 && to < size; ++to) {
      if (to == rank) continue;
      const uint64_t here = (uint64_t)(uintptr_t)source;
      if ((step + to) % 2 == 0) {
        code = failed(ompl_put_signal(here, to, place(rank, thread, step), length, flag(rank, thread)),
                      "ompl_put_signal");
      } else {
        code = failed(ompl_put(here, to, place(rank, thread, step), length), "ompl_put");
        if (code >= 0) code = failed(ompl_put_word(to, flag(rank, thread)), "ompl_put_word");
      }
    }
    for (uint32_t from = 0; code >= 0 && from < size; ++from) {
      if (from == rank) continue;
      code = failed(ompl_wait(flag(from, thread)), "ompl_wait");
      const size_t there = length_of(from, thread, step);
      const unsigned char* came = ompl_ptr(rank, place(from, thread, step));
      const unsigned char wanted = (unsigned char)(step + from);
      if (code >= 0) expect(came[0] == wanted && came[there - 1] == wanted, "what was put is wrong");
    }
    if (code >= 0 && step % 8 == 0) code = failed(ompl_quiet(), "ompl_quiet");
    uint64_t back = 0;
    const uint32_t right = (rank + 1) % size;
    if (code >= 0 && step % 8 == 4)
      code =
          failed(ompl_get((uint64_t)(uintptr_t)&back, right, place(rank, thread, step), 1), "ompl_get");
  }
  free(source);
  return code;
}

static void* second_storm(void* unused) {
  (void)unused;
  storm(1);
  return NULL;
}

static int storms(void) {
  pthread_t second;
  expect(pthread_create(&second, NULL, second_storm, NULL) == 0, "no thread");
  storm(0);
  pthread_join(second, NULL);
  return (int)atomic_load(&mine->code);
}

static int exchange(void) {
  static double vector[3000];
  ompl_halo* halo = NULL;
  ompl_halo_neighbor neighbors[2] = {{0}};
  const size_t count = size > 2 ? 2 : 1;
  ompl_halo_config config = OMPL_HALO_CONFIG_INIT;
  config.strategy = OMPL_HALO_ACKED;
  for (size_t i = 0; i < count; ++i) {
    neighbors[i].rank = i == 0 ? (rank + 1) % size : (rank + size - 1) % size;
    neighbors[i].send_count = neighbors[i].receive_count = 3000;
  }
  int code = failed(ompl_halo_create(&config, neighbors, count, &halo), "ompl_halo_create");
  if (code < 0) return code;
  const void* vectors[1] = {vector};
  for (int64_t step = 0; code >= 0 && goes_on(0, step); ++step) {
    vector[0] = vector[2999] = (double)step;
    code = failed(ompl_halo_start(OMPL_CTX_DEFAULT, halo, vectors, OMPL_FOREVER), "ompl_halo_start");
    if (code >= 0)
      code = failed(ompl_halo_wait(OMPL_CTX_DEFAULT, halo, OMPL_FOREVER), "ompl_halo_wait");
    for (size_t i = 0; code >= 0 && i < count; ++i) {
      const double* came = ompl_halo_data(halo, i, 0);
      expect(came[0] == (double)step && came[2999] == (double)step, "what was exchanged is wrong");
    }
  }
  const int destroyed = failed(ompl_halo_destroy(halo), "ompl_halo_destroy");
  return code < 0 ? code : destroyed;
}

static int run(const char* phase) {
  if (strcmp(phase, "alloc") == 0) return repeat(allocate);
  if (strcmp(phase, "barrier") == 0) return repeat(meet);
  if (strcmp(phase, "collectives") == 0) return repeat(reduce);
  if (strcmp(phase, "puts") == 0) return storms();
  if (strcmp(phase, "halo") == 0) return exchange();
  return OMPL_OK; /* init and finalize are what main() does anyway */
}

/* ---- After a failure ---- */

static int is_failed(uint32_t which) {
  uint32_t ranks[MOST_RANKS];
  size_t count = 0;
  expect(ompl_failed_ranks(ranks, MOST_RANKS, &count) == OMPL_OK && count <= size, "ompl_failed_ranks");
  for (size_t i = 0; i < count; ++i) {
    expect(ranks[i] < size && (i == 0 || ranks[i] > ranks[i - 1]), "the order of failed ranks");
    if (ranks[i] == which) return 1;
  }
  return 0;
}

static int all_killed_are_known(void) {
  const int64_t killed = atomic_load(&page->killed);
  for (uint32_t other = 0; other < size; ++other) {
    if ((killed >> other & 1) != 0 && !is_failed(other)) return 0;
  }
  return 1;
}

/* Signals of all that live, in spite of failures that come meanwhile: who has gone on may be gone already. */
static void go_on(void) {
  const int64_t killed = atomic_load(&page->killed);
  while (!all_killed_are_known()) ompl_progress(OMPL_CTX_DEFAULT, 1000000);
  atomic_store(&mine->knows_ns, now_ns());
  atomic_store(&mine->state, KNOWS);
  expect(ompl_failure_ack() > 0, "ompl_failure_ack counts no rank");
  for (uint32_t other = 0; other < size; ++other) {
    if (other != rank && (killed >> other & 1) == 0)
      expect(ompl_put_word(other, farewells + rank * sizeof(uint32_t)) == OMPL_OK,
             "a signal to a rank that lives");
  }
  for (uint32_t other = 0; other < size; ++other) {
    if (other == rank || (killed >> other & 1) != 0) continue;
    while (ompl_wait(farewells + other * sizeof(uint32_t)) != OMPL_OK) ompl_failure_ack();
  }
  expect(ompl_quiet() != OMPL_ERR_STATE, "ompl_quiet"); /* may fail for what went to the dead */
  atomic_store(&mine->state, WENT_ON);
}

static void end(int code) {
  atomic_store(&mine->ended_ns, now_ns());
  if (atomic_load(&mine->state) < WENT_ON) atomic_store(&mine->state, ENDED);
  exit(code);
}

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(500); /* nothing may hang */
  if (argc < 4) return 2;
  const char* phase = argv[1];
  const int file = open(argv[3], O_RDWR | O_CLOEXEC);
  page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || page == MAP_FAILED) return 2;
  close(file);
  mine = &page->rows[atoi(getenv("PMI_RANK"))];
  atomic_store(&mine->pid, getpid());

  if (strcmp(phase, "init") == 0) await_go();
  if (failed(ompl_init(), "ompl_init") < 0) end(FAILED);
  rank = (uint32_t)ompl_rank();
  size = (uint32_t)ompl_size();
  int code = OMPL_OK;
  if (strcmp(phase, "init") != 0) {
    expect(ompl_alloc((size_t)size * THREADS * 2 * LONGEST, &data) == OMPL_OK, "ompl_alloc");
    expect(ompl_alloc((size_t)size * THREADS * sizeof(uint32_t), &flags) == OMPL_OK, "ompl_alloc");
    expect(ompl_alloc((size_t)size * sizeof(uint32_t), &farewells) == OMPL_OK, "ompl_alloc");
    expect(ompl_barrier() == OMPL_OK, "ompl_barrier");
    if (strcmp(phase, "finalize") == 0) await_go();
    atomic_store(&mine->state, READY);
    code = run(phase);
    if (code < 0) expect(code == OMPL_ERR_PEER || code == OMPL_ERR_LINK, "another error");
    if (code < 0 && strcmp(argv[2], "go-on") == 0) go_on();
  }
  const int left = failed(ompl_finalize(), "ompl_finalize");
  if (left < 0)
    expect(left == OMPL_ERR_PEER || left == OMPL_ERR_LINK, "another error of ompl_finalize");
  expect(code == OMPL_OK || left < 0, "ompl_finalize says that all is well after a failure");
  end(left < 0 ? FAILED : 0);
}
