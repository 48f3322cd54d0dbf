/* SPDX-License-Identifier: BSD-3-Clause */
/* What the generated checks of every function stand on: symmetric areas, a pattern of bytes, and how a check fails. */
#ifndef OMNIPGAS_SHMEM_EVERY_H
#define OMNIPGAS_SHMEM_EVERY_H

#include <pshmem.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How a function is called: by its name, by its profiling name, or by a generic selection. */
#if defined(EVERY_PSHMEM)
#define CALL(name, generic) p##name
#elif defined(EVERY_GENERIC)
#define CALL(name, generic) generic
#else
#define CALL(name, generic) name
#endif

enum { kArea = 4096 };

extern int me, pes, right, left;
extern unsigned char *to, *from, *local; /* kArea bytes; symmetric, symmetric, private */
extern uint64_t sig;                     /* symmetric */
extern long work[1];
extern shmem_ctx_t ctx;

/* All PEs begin a check: the areas are as they were. Areas of the heap and static ones take turns. */
void begin(const char* name);
/* What was sent on the context is there. */
void finish(shmem_ctx_t context);
void expect_bytes(const unsigned char* place, int pe, size_t first, size_t count);
void expect_zero(const unsigned char* place, size_t count);
void failed_check(const char* what, const char* file, int line);

/* Masks of three words: without the one in the middle, without the first, without any. */
static const int not_1[3] __attribute__((unused)) = {0, 1, 0};
static const int not_0[3] __attribute__((unused)) = {1, 0, 0};
static const int none[1] __attribute__((unused)) = {1};

#define CHECK(condition) ((condition) ? (void)0 : failed_check(#condition, __FILE__, __LINE__))

void library_before(void); /* before shmem_init() */
void library(void);        /* functions without types; leaves OpenSHMEM initialised */
void library_after(void);  /* after shmem_finalize() */

#endif
