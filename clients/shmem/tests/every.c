/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls every function of OpenSHMEM and checks what it did, on two PEs or more (up to 16). */
#include "every.h"

int me, pes, right, left;
unsigned char *to, *from, *local;
uint64_t sig;
long work[1];
shmem_ctx_t ctx;

static _Alignas(64) unsigned char static_areas[2][kArea];
static unsigned char* heap_areas;
static const char* current = "the start";
static unsigned checks;

static unsigned char pattern(int pe, size_t i) { return (unsigned char)(pe * 61 + (int)i * 7 + 1); }

void begin(const char* name) {
  current = name;
  ++checks;
  shmem_barrier_all(); /* nobody writes into the last check's areas any more */
  to = checks % 2 == 0 ? static_areas[0] : heap_areas;
  from = checks % 2 == 0 ? static_areas[1] : heap_areas + kArea;
  memset(to, 0, kArea);
  memset(local, 0, kArea);
  sig = 0;
  for (size_t i = 0; i < kArea; ++i) from[i] = pattern(me, i);
  shmem_barrier_all();
}

void finish(shmem_ctx_t context) {
  shmem_ctx_quiet(context);
  shmem_barrier_all();
}

void failed_check(const char* what, const char* file, int line) {
  fprintf(stderr, "PE %d: %s: %s does not hold (%s:%d)\n", me, current, what, file, line);
  shmem_global_exit(1);
}

void expect_bytes(const unsigned char* place, int pe, size_t first, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (place[i] == pattern(pe, first + i)) continue;
    fprintf(stderr, "PE %d: byte %zu is %d, not %d\n", me, i, place[i], pattern(pe, first + i));
    failed_check("what PEs sent", __FILE__, __LINE__);
  }
}

void expect_zero(const unsigned char* place, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (place[i] != 0) failed_check("nothing else is written", __FILE__, __LINE__);
  }
}

#define EVERY(chapter) void every_##chapter(void);
#include "every_list.h"
#undef EVERY

int main(void) {
  library_before();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  right = (me + 1) % pes;
  left = (me + pes - 1) % pes;
  CHECK(pes >= 2 && pes <= 16);
  local = malloc(kArea);
  heap_areas = shmem_malloc(2 * kArea);
  CHECK(local != NULL && heap_areas != NULL);
  CHECK(shmem_ctx_create(0, &ctx) == 0);
#define EVERY(chapter) every_##chapter();
#include "every_list.h"
#undef EVERY
  shmem_ctx_destroy(ctx);
  shmem_free(heap_areas);
  current = "the library's functions";
  library();
  shmem_barrier_all();
  if (me == 0) printf("%u functions with types called and checked, and those without\n", checks);
  library_after();
  free(local);
  return 0;
}
