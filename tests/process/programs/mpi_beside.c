/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_beside SECONDS THREADS START END: in each rank threads that use the layer and threads that call MPI, at the same
 * time and without any agreement between the two worlds.
 *
 * START  mpi, ompl        whose initialisation comes first
 * END    mpi, ompl, both  which world is finalized first, the other one's traffic going on meanwhile; both: at once
 *
 * Each world ends by a word of rank 0 that travels through that world. Every thread checks all that it receives;
 * each rank prints how much that was. Exit status 3 after the first thing that is wrong, 77 if MPI grants no
 * MPI_THREAD_MULTIPLE. */
#define _GNU_SOURCE
#include <mpi.h>
#include <omnipgas/ompl.h>
#include <omnipgas/ompl_ext.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* A ring of up to 4 ranks may be that far ahead of its slowest: a rank that has received message i of its left
 * neighbour knows that its right one has taken message i + 1 - ranks. */
enum { kSlots = 4, kMostThreads = 8, kOffsets = 65536, kLongest = 262144, kPatience_s = 240 };

static const size_t kLengths[] = {1, 8, 100, 128, 129, 1000, 4096, 20000, 65537, kLongest};
enum { kLengthCount = sizeof kLengths / sizeof kLengths[0] };

/* What precedes the data of a message around a ring. */
typedef struct Header {
  uint64_t number;
  uint64_t stop; /* the number of the last message; 0: nobody knows yet */
} Header;

/* One rank's part of an endless stream of messages to its right neighbour. */
typedef struct Ring {
  uint32_t rank, left, right, stream;
  uint64_t number, stop;
} Ring;

static unsigned char g_pattern[kOffsets + kLongest];
static uint32_t g_rank, g_size;
static int g_threads;
static double g_end;
static const char* g_order;
static atomic_bool g_ended[2]; /* the worlds, on this rank */
enum { kMpi = 0, kOmpl = 1 };
static uint64_t g_checked[2][kMostThreads];
static uint64_t g_ring_memory[kMostThreads], g_constants;
static MPI_Comm g_comms[kMostThreads];

#define REQUIRE(truth) require((truth), #truth, __LINE__)

static void require(bool truth, const char* what, int line) {
  if (truth) return;
  fprintf(stderr, "mpi_beside: rank %u, line %d: not so: %s; %s\n", g_rank, line, what,
          ompl_error_detail());
  _exit(3);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void make_pattern(void) {
  uint32_t state = 12345;
  for (size_t i = 0; i < sizeof g_pattern; ++i) {
    state = state * 1664525U + 1013904223U;
    g_pattern[i] = (unsigned char)(state >> 24);
  }
}

/* The data of message `number` of a sender. */
static const unsigned char* data_of(uint32_t rank, uint32_t stream, uint64_t number) {
  return g_pattern + (rank * 7919 + stream * 10473 + number * 31) % kOffsets;
}

static size_t length_of(uint32_t stream, uint64_t number) {
  return kLengths[(number * 7 + stream) % kLengthCount];
}

/* Whether rank 0 lets a stream of this world end: the time is up, every length was sent, and the other world has ended
 * if it is to go first. */
static bool may_end(int world, uint64_t number) {
  const char* first = world == kMpi ? "ompl" : "mpi";
  return now() > g_end && number >= kLengthCount &&
         (strcmp(g_order, first) != 0 || atomic_load(&g_ended[1 - world]));
}

static Ring ring_of(uint32_t stream) {
  return (Ring){g_rank, (g_rank + g_size - 1) % g_size, (g_rank + 1) % g_size, stream, 0, 0};
}

/* What to send next; the last number is one that the news can reach every rank before. */
static Header next_header(Ring* ring, int world) {
  ++ring->number;
  if (g_rank == 0 && ring->stop == 0 && may_end(world, ring->number))
    ring->stop = ring->number + g_size;
  return (Header){ring->number, ring->stop};
}

static void check(Ring* ring, const Header* header, const void* data, size_t length) {
  REQUIRE(header->number == ring->number);
  REQUIRE(length == length_of(ring->stream, ring->number));
  REQUIRE(memcmp(data, data_of(ring->left, ring->stream, ring->number), length) == 0);
  if (header->stop != 0) ring->stop = header->stop;
}

/* --- The layer's world ------------------------------------------------------------------------------------ */

/* The memory of a ring on each rank: its flag, a counter on rank 0, and the slots. */
enum { kCounter = 8, kFirstSlot = 64, kSlotSize = 64 + kLongest };

static uint64_t slot_of(const Ring* ring) {
  return g_ring_memory[ring->stream] + kFirstSlot + ring->number % kSlots * kSlotSize;
}

/* A nonblocking put of the header, a put of the data with the signal for both. */
static void send_by_ompl(const Ring* ring, const Header* header) {
  const uint64_t slot = slot_of(ring);
  const uint64_t data = (uint64_t)(uintptr_t)data_of(g_rank, ring->stream, ring->number);
  ompl_handle handle = OMPL_HANDLE_INIT;
  int code = OMPL_RETRY_BUSY;
  while (code > OMPL_PENDING) {
    code = ompl_put_nb(OMPL_CTX_DEFAULT, (uint64_t)(uintptr_t)header, ring->right, slot, sizeof *header,
                       NULL, 0, &handle);
    if (code > OMPL_PENDING) REQUIRE(ompl_progress(OMPL_CTX_DEFAULT, 1000000) >= 0);
  }
  REQUIRE(code >= OMPL_OK);
  REQUIRE(ompl_put_signal(data, ring->right, slot + 64, length_of(ring->stream, ring->number),
                          g_ring_memory[ring->stream]) == OMPL_OK);
  REQUIRE(ompl_handle_wait(OMPL_CTX_DEFAULT, &handle, OMPL_FOREVER) == OMPL_OK);
}

/* What the right neighbour holds for ever, and one more on rank 0's counter. */
static void get_and_count(const Ring* ring, unsigned char* buffer) {
  const size_t length = length_of(ring->stream, ring->number + 1);
  uint64_t before = 0;
  REQUIRE(ompl_get((uint64_t)(uintptr_t)buffer, ring->right, g_constants, length) == OMPL_OK);
  REQUIRE(memcmp(buffer, data_of(ring->right, 0, 0), length) == 0);
  REQUIRE(ompl_fetch_add64(0, g_ring_memory[ring->stream] + kCounter, 1, &before) == OMPL_OK);
  REQUIRE(before < (ring->number + g_size) * g_size); /* others may be ahead */
  if (ring->number % 8 == 0) REQUIRE(ompl_quiet() == OMPL_OK);
}

static void* ompl_ring(void* arg) {
  Ring ring = ring_of((uint32_t)(uintptr_t)arg);
  unsigned char* const buffer = malloc(kLongest);
  REQUIRE(buffer != NULL);
  do {
    const Header header = next_header(&ring, kOmpl);
    send_by_ompl(&ring, &header);
    REQUIRE(ompl_wait(g_ring_memory[ring.stream]) == OMPL_OK);
    const unsigned char* const slot = ompl_ptr(g_rank, slot_of(&ring));
    check(&ring, (const Header*)(const void*)slot, slot + 64, length_of(ring.stream, ring.number));
    get_and_count(&ring, buffer);
    ++g_checked[kOmpl][ring.stream];
  } while (ring.number != ring.stop);
  free(buffer);
  return NULL;
}

/* Work for ompl_finalize(), which completes puts: nothing may hang or fail. */
static void leave_puts_behind(void) {
  const uint64_t to = g_ring_memory[0] + kFirstSlot;
  for (int i = 0; i < 16; ++i) {
    REQUIRE(ompl_put((uint64_t)(uintptr_t)g_pattern, (g_rank + 1) % g_size, to, 4096) == OMPL_OK);
  }
}

static void start_threads(void* (*run)(void*), pthread_t* threads) {
  for (int i = 0; i < g_threads; ++i)
    REQUIRE(pthread_create(&threads[i], NULL, run, (void*)(uintptr_t)i) == 0);
}

static void join_threads(const pthread_t* threads) {
  for (int i = 0; i < g_threads; ++i) REQUIRE(pthread_join(threads[i], NULL) == 0);
}

/* Runs beside main(), which has MPI_Finalize() to call. */
static void* ompl_world(void* arg) {
  (void)arg;
  pthread_t threads[kMostThreads];
  start_threads(ompl_ring, threads);
  join_threads(threads);
  REQUIRE(ompl_barrier() == OMPL_OK);
  for (int i = 0; i < g_threads && g_rank == 0; ++i) {
    uint64_t counted = 0;
    REQUIRE(ompl_fetch64(0, g_ring_memory[i] + kCounter, &counted) == OMPL_OK);
    REQUIRE(counted == g_checked[kOmpl][i] * g_size);
  }
  while (strcmp(g_order, "mpi") == 0 && !atomic_load(&g_ended[kMpi])) usleep(1000);
  leave_puts_behind();
  REQUIRE(ompl_finalize() == OMPL_OK);
  atomic_store(&g_ended[kOmpl], true);
  return NULL;
}

static void prepare_ompl(void) {
  REQUIRE((uint32_t)ompl_rank() == g_rank && (uint32_t)ompl_size() == g_size);
  REQUIRE(ompl_alloc(kLongest, &g_constants) == OMPL_OK);
  memcpy(ompl_ptr(g_rank, g_constants), data_of(g_rank, 0, 0), kLongest);
  for (int i = 0; i < g_threads; ++i)
    REQUIRE(ompl_alloc(kFirstSlot + kSlots * kSlotSize, &g_ring_memory[i]) == OMPL_OK);
}

/* --- MPI's world ------------------------------------------------------------------------------------------ */

/* Receives posted before or, every other time, only after the message is there. */
static void exchange_by_mpi(Ring* ring, unsigned char* out, unsigned char* in) {
  const MPI_Comm comm = g_comms[ring->stream];
  const int most = (int)(sizeof(Header) + kLongest);
  const size_t length = length_of(ring->stream, ring->number);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[2];
  const bool probe = ring->number % 2 == 0;
  int received = 0;
  if (!probe) MPI_Irecv(in, most, MPI_BYTE, (int)ring->left, 5, comm, &requests[1]);
  memcpy(out + sizeof(Header), data_of(g_rank, ring->stream, ring->number), length);
  MPI_Isend(out, (int)(sizeof(Header) + length), MPI_BYTE, (int)ring->right, 5, comm, &requests[0]);
  if (probe) {
    MPI_Probe((int)ring->left, MPI_ANY_TAG, comm, &statuses[1]);
    MPI_Get_count(&statuses[1], MPI_BYTE, &received);
    MPI_Recv(in, received, MPI_BYTE, (int)ring->left, statuses[1].MPI_TAG, comm, &statuses[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  } else {
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[1], MPI_BYTE, &received);
  }
  Header header;
  memcpy(&header, in, sizeof header);
  check(ring, &header, in + sizeof header, (size_t)received - sizeof header);
}

static void mpi_ring(uint32_t stream, unsigned char* out, unsigned char* in) {
  Ring ring = ring_of(stream);
  do {
    const Header header = next_header(&ring, kMpi);
    memcpy(out, &header, sizeof header);
    exchange_by_mpi(&ring, out, in);
    ++g_checked[kMpi][stream];
  } while (ring.number != ring.stop);
}

static void mpi_collectives(uint32_t stream, unsigned char* out, unsigned char* in) {
  const MPI_Comm comm = g_comms[stream];
  const int each = (int)sizeof(uint64_t);
  int stop = 0;
  for (uint64_t number = 1; stop == 0; ++number) {
    const uint32_t root = (uint32_t)(number % g_size);
    const size_t length = length_of(stream, number);
    if (g_rank == root) memcpy(in, data_of(root, stream, number), length);
    MPI_Bcast(in, (int)length, MPI_BYTE, (int)root, comm);
    REQUIRE(memcmp(in, data_of(root, stream, number), length) == 0);

    uint64_t sum = 0;
    const uint64_t mine = number * (g_rank + 1);
    MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, comm);
    REQUIRE(sum == number * g_size * (g_size + 1) / 2);

    for (uint32_t to = 0; to < g_size; ++to) {
      const uint64_t word = number * 100 + g_rank * 10 + to;
      memcpy(out + to * sizeof word, &word, sizeof word);
    }
    MPI_Alltoall(out, each, MPI_BYTE, in, each, MPI_BYTE, comm);
    for (uint32_t from = 0; from < g_size; ++from) {
      const uint64_t word = number * 100 + from * 10 + g_rank;
      REQUIRE(memcmp(in + from * sizeof word, &word, sizeof word) == 0);
    }
    MPI_Barrier(comm);
    if (g_rank == 0) stop = may_end(kMpi, number);
    MPI_Bcast(&stop, 1, MPI_INT, 0, comm);
    ++g_checked[kMpi][stream];
  }
}

static void* mpi_thread(void* arg) {
  const uint32_t stream = (uint32_t)(uintptr_t)arg;
  unsigned char* const out = malloc(sizeof(Header) + kLongest);
  unsigned char* const in = malloc(sizeof(Header) + kLongest);
  REQUIRE(out != NULL && in != NULL);
  (stream % 2 == 0 ? mpi_ring : mpi_collectives)(stream, out, in);
  free(out);
  free(in);
  return NULL;
}

static void prepare_mpi(void) {
  int rank = 0;
  int size = 0;
  int level = 0;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) {
    printf("skipped: this MPI grants no MPI_THREAD_MULTIPLE but level %d\n", level);
    exit(77);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  g_rank = (uint32_t)rank;
  g_size = (uint32_t)size;
  REQUIRE(g_size >= 2 && g_size <= kSlots);
  for (int i = 0; i < g_threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &g_comms[i]);
}

/* --- Both ------------------------------------------------------------------------------------------------- */

/* In one write, so that no launcher mixes the lines of two ranks. */
static void report(void) {
  char line[512];
  size_t length = (size_t)snprintf(line, sizeof line, "rank %u of %u checked", g_rank, g_size);
  for (int world = 0; world < 2; ++world) {
    const char* name = world == kMpi ? " mpi" : " ompl";
    length += (size_t)snprintf(line + length, sizeof line - length, "%s", name);
    for (int i = 0; i < g_threads; ++i)
      length += (size_t)snprintf(line + length, sizeof line - length, " %llu",
                                 (unsigned long long)g_checked[world][i]);
  }
  line[length++] = '\n';
  REQUIRE(write(STDOUT_FILENO, line, length) == (ssize_t)length);
}

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const double seconds = atof(argv[1]);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm((unsigned)seconds + kPatience_s);
  g_threads = atoi(argv[2]);
  g_order = argv[4];
  REQUIRE(g_threads > 0 && g_threads <= kMostThreads);
  make_pattern();

  int level = 0;
  const bool ompl_first = strcmp(argv[3], "ompl") == 0;
  if (ompl_first && ompl_init() != OMPL_OK) return 4;
  REQUIRE(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS);
  if (!ompl_first && ompl_init() != OMPL_OK) return 4;
  prepare_mpi();
  prepare_ompl();

  g_end = now() + seconds;
  pthread_t ompl;
  pthread_t threads[kMostThreads];
  REQUIRE(pthread_create(&ompl, NULL, ompl_world, NULL) == 0);
  start_threads(mpi_thread, threads);
  join_threads(threads);
  for (int i = 0; i < g_threads; ++i) MPI_Comm_free(&g_comms[i]);
  if (strcmp(g_order, "ompl") == 0) REQUIRE(pthread_join(ompl, NULL) == 0);
  REQUIRE(MPI_Finalize() == MPI_SUCCESS);
  atomic_store(&g_ended[kMpi], true);
  if (strcmp(g_order, "ompl") != 0) REQUIRE(pthread_join(ompl, NULL) == 0);
  report();
  return 0;
}
