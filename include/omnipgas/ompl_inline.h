/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ompl.h and ompl_ext.h, with put, get, put_word, put_nb, handle_wait_all, fetch_add, the addition of doubles and the fence of
 * mapped ranks compiled into the caller. For language runtimes and inner loops that issue many small operations: it saves the
 * call, which costs more than the operation. Include it instead of the others; meaning, checks and errors are the same. The functions of the
 * library stay what they are, and are called whenever the fast case does not hold.
 *
 * The fast case: the operation falls into the allocation, and goes to the rank, that the calling thread's
 * implicit context used last (its window).
 *
 * What is declared below besides the functions of ompl.h and ompl_ext.h is bound to the library's soname and not for use.
 */
#ifndef OMNIPGAS_OMPL_INLINE_H
#define OMNIPGAS_OMPL_INLINE_H

#include <omnipgas/ompl_ext.h>

#if defined(__GNUC__)

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The allocation of one rank that a thread used last; length 0 while there is none. */
struct ompl_window {
  uint64_t begin;      /* offset of the allocation */
  uint64_t length;     /* bytes; atomic: any thread's ompl_free sets it to 0 */
  unsigned char* base; /* where the rank's segment is mapped */
  uint32_t rank;
};

/* The calling thread's windows: of puts and gets, and of signals. */
struct ompl_windows {
  struct ompl_window data;
  struct ompl_window flag;
};
extern OMPL_API __thread struct ompl_windows ompl_thread_windows
    __attribute__((tls_model("initial-exec")));

/* Offsets in a segment: the number of its sleepers, those of all flags, of each bucket of flags, and of the flags watched. */
#define OMPL_WINDOW_SLEEPERS 264
#define OMPL_WINDOW_ANY 448
#define OMPL_WINDOW_BUCKETS 512
#define OMPL_WINDOW_WATCHES 21064

/* Longer puts take the call: the library notes them, and they take longer than it does. */
#define OMPL_WINDOW_BULK 16384

/* Wakes who waits for the flag; called after a signal if anybody of the rank sleeps. */
OMPL_API void ompl_window_wake(uint32_t target_rank, uint64_t flag_addr);

/* GNU inline: only ever expanded; whoever takes the address of a function gets the library's. */
#define OMPL_EXTERN_INLINE extern inline __attribute__((gnu_inline, always_inline))

/* Orders the calling thread's stores before its later loads. A put or a store through ompl_ptr() to mapped memory waits in
 * the store buffer of its core; no release and no acquire stops a later load from overtaking it. On x86-64 a locked
 * operation on the own stack does, in 2 ns for the 18 of MFENCE; on aarch64 nothing less than DMB ISH. */
OMPL_EXTERN_INLINE void ompl_window_fence(void) {
#if defined(__x86_64__)
  __asm__ __volatile__("lock; orl $0, -4(%%rsp)" ::: "memory", "cc");
#elif defined(__aarch64__)
  __asm__ __volatile__("dmb ish" ::: "memory");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Orders the calling thread's stores, plain and atomic, before its later ones. x86-64 keeps them in order as they are. */
OMPL_EXTERN_INLINE void ompl_window_store_fence(void) {
#if defined(__x86_64__)
  __asm__ __volatile__("" ::: "memory");
#elif defined(__aarch64__)
  __asm__ __volatile__("dmb ishst" ::: "memory");
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* ompl_window_fence() before an atomic that returns the value before. On x86-64 a locked instruction is a fence itself, but one that
 * only reads is a load; on aarch64 the load of an exclusive pair may overtake earlier stores. */
OMPL_EXTERN_INLINE void ompl_window_fence_before_fetch(int only_reads) {
#if defined(__x86_64__)
  if (!only_reads) return;
#else
  (void)only_reads;
#endif
  ompl_window_fence();
}

/* The windows of the thread that runs now. A task may go on in another thread after a call that yields, which compilers do not
 * know: they keep the thread pointer, or an address made with it, in a register across calls. On x86-64 they address by %fs;
 * elsewhere the pointer is read anew here. */
OMPL_EXTERN_INLINE struct ompl_windows* ompl_windows_here(void) {
#if defined(__aarch64__) && !defined(OMPL_BUILDS_LIBRARY)
  unsigned long here;
  unsigned long place;
  __asm__ volatile("mrs %0, tpidr_el0" : "=r"(here));
  __asm__("adrp %0, :gottprel:ompl_thread_windows\n\tldr %0, [%0, #:gottprel_lo12:ompl_thread_windows]"
          : "=r"(place));
  return (struct ompl_windows*)(here + place);
#elif defined(__riscv) && !defined(OMPL_BUILDS_LIBRARY)
  struct ompl_windows* here;
  __asm__ volatile("la.tls.ie %0, ompl_thread_windows\n\tadd %0, %0, tp" : "=r"(here));
  return here;
#else
  return &ompl_thread_windows;
#endif
}

/* Whether [offset, offset + length) of the rank lies in the window. */
OMPL_EXTERN_INLINE int ompl_window_holds(const struct ompl_window* window, uint32_t rank,
                                         uint64_t offset, size_t length) {
  const uint64_t inside = offset - window->begin;
  const uint64_t whole = __atomic_load_n(&window->length, __ATOMIC_RELAXED);
  if (__builtin_expect(rank != window->rank, 0)) return 0;
  if (__builtin_expect(inside >= whole, 0)) return 0;
  return length <= whole - inside;
}

/* The word at (target_rank, addr) if it lies in the flags' window, else NULL. */
OMPL_EXTERN_INLINE void* ompl_window_word(uint32_t target_rank, uint64_t addr, size_t width) {
  const struct ompl_window* window = &ompl_windows_here()->flag;
  const uint64_t last =
      addr - window->begin + (width - 1); /* no overflow: allocations begin at multiples of 256 */
  if (__builtin_expect(addr % width != 0, 0) || __builtin_expect(target_rank != window->rank, 0) ||
      __builtin_expect(last >= __atomic_load_n(&window->length, __ATOMIC_RELAXED), 0))
    return NULL;
  return window->base + addr;
}

OMPL_EXTERN_INLINE uint32_t ompl_window_count(const unsigned char* base, size_t offset) {
  return __atomic_load_n((const uint32_t*)(const void*)(base + offset), __ATOMIC_SEQ_CST);
}

/* Whether some of the rank's sleepers may wait for that word. Most wait for another one. */
OMPL_EXTERN_INLINE int ompl_window_awaited(const unsigned char* base, uint64_t addr) {
  const size_t bucket = ((uint32_t)(addr >> 2) * 2654435769U) >> 26;
  return (ompl_window_count(base, OMPL_WINDOW_BUCKETS + 64 * bucket) |
          ompl_window_count(base, OMPL_WINDOW_ANY) | ompl_window_count(base, OMPL_WINDOW_WATCHES)) != 0;
}

/* Wakes who waits for a word of the flags' window that was changed. */
OMPL_EXTERN_INLINE void ompl_window_changed(uint32_t target_rank, uint64_t addr) {
  const unsigned char* base = ompl_windows_here()->flag.base;
  if (__builtin_expect(ompl_window_count(base, OMPL_WINDOW_SLEEPERS) != 0, 0) &&
      ompl_window_awaited(base, addr))
    ompl_window_wake(target_rank, addr);
}

/* The body of ompl_put_word(). */
OMPL_EXTERN_INLINE int ompl_put_word_inline(uint32_t target_rank, uint64_t flag_addr) {
  void* word = ompl_window_word(target_rank, flag_addr, sizeof(uint32_t));
  if (__builtin_expect(word == NULL, 0))
    return ompl_ctx_put_word(OMPL_CTX_DEFAULT, target_rank, flag_addr, OMPL_FOREVER);
  __atomic_fetch_add((uint32_t*)word, 1, __ATOMIC_SEQ_CST);
  ompl_window_changed(target_rank, flag_addr);
  return OMPL_OK;
}

/* memcpy; eight bytes, the commonest length that is not known when compiling, without a call. A long copy of known
 * length is hidden from the compiler, which would expand it to a string instruction, slower by a third. */
OMPL_EXTERN_INLINE void ompl_window_copy(void* to, const void* from, size_t length) {
  if (__builtin_expect(length == 8, 1)) {
    memcpy(to, from, 8);
    return;
  }
  if (length > 128) __asm__("" : "+r"(length));
  memcpy(to, from, length);
}

/* The quick case of ompl_put_nb(): 1 if the put is done, and its handle complete. */
OMPL_EXTERN_INLINE int ompl_put_nb_inline(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                          uint64_t dest_addr, size_t length, const ompl_signal* signal,
                                          unsigned options, ompl_handle* handle) {
  const struct ompl_window* window = &ompl_windows_here()->data;
  if (__builtin_expect(ctx != OMPL_CTX_DEFAULT || signal != NULL || options > OMPL_LOCAL, 0) ||
      __builtin_expect(length > OMPL_WINDOW_BULK, 0) ||
      __builtin_expect(!ompl_window_holds(window, target_rank, dest_addr, length), 0))
    return 0;
  ompl_window_copy(window->base + dest_addr, (const void*)src_addr, length);
  if (handle != NULL) handle->opaque[0] = 0;
  return 1;
}

/* How many of the handles, from the first on, stand for no operation. */
OMPL_EXTERN_INLINE size_t ompl_handles_complete(const ompl_handle* handles, size_t count) {
  size_t complete = 0;
  while (complete < count && handles[complete].opaque[0] == 0) ++complete;
  return complete;
}

#ifndef OMPL_BUILDS_LIBRARY
OMPL_EXTERN_INLINE int ompl_put(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                                size_t length) {
  const struct ompl_window* window = &ompl_windows_here()->data;
  if (__builtin_expect(length > OMPL_WINDOW_BULK, 0) ||
      __builtin_expect(!ompl_window_holds(window, target_rank, dest_addr, length), 0))
    return ompl_ctx_put(OMPL_CTX_DEFAULT, src_addr, target_rank, dest_addr, length, OMPL_FOREVER);
  ompl_window_copy(window->base + dest_addr, (const void*)src_addr, length);
  return OMPL_OK;
}

OMPL_EXTERN_INLINE int ompl_get(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                                size_t length) {
  const struct ompl_window* window = &ompl_windows_here()->data;
  if (__builtin_expect(!ompl_window_holds(window, target_rank, dest_addr, length), 0))
    return ompl_ctx_get(OMPL_CTX_DEFAULT, src_addr, target_rank, dest_addr, length, OMPL_FOREVER);
  ompl_window_copy((void*)src_addr, window->base + dest_addr, length);
  return OMPL_OK;
}

OMPL_EXTERN_INLINE int ompl_put_word(uint32_t target_rank, uint64_t flag_addr) {
  return ompl_put_word_inline(target_rank, flag_addr);
}

/* The library's functions of these names, for the other cases. */
extern OMPL_API int ompl_put_nb_call(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                     uint64_t dest_addr, size_t length, const ompl_signal* signal,
                                     unsigned options, ompl_handle* handle) __asm__("ompl_put_nb");
extern OMPL_API int ompl_handle_wait_all_call(ompl_ctx* ctx, ompl_handle* handles, size_t count,
                                              int64_t timeout_ns) __asm__("ompl_handle_wait_all");

OMPL_EXTERN_INLINE int ompl_put_nb(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                   uint64_t dest_addr, size_t length, const ompl_signal* signal,
                                   unsigned options, ompl_handle* handle) {
  if (ompl_put_nb_inline(ctx, src_addr, target_rank, dest_addr, length, signal, options, handle))
    return OMPL_OK;
  return ompl_put_nb_call(ctx, src_addr, target_rank, dest_addr, length, signal, options, handle);
}

OMPL_EXTERN_INLINE int ompl_handle_wait_all(ompl_ctx* ctx, ompl_handle* handles, size_t count,
                                            int64_t timeout_ns) {
  /* Without a window, as in a traced program, the call is not saved. */
  const int has_window = __atomic_load_n(&ompl_windows_here()->data.length, __ATOMIC_RELAXED) != 0;
  const size_t complete = has_window ? ompl_handles_complete(handles, count) : 0;
  if (complete == count && has_window) {
    ompl_window_fence();
    return OMPL_OK;
  }
  return ompl_handle_wait_all_call(ctx, handles + complete, count - complete, timeout_ns);
}

extern OMPL_API int ompl_ctx_fence_call(ompl_ctx* ctx, uint32_t rank,
                                        int64_t timeout_ns) __asm__("ompl_ctx_fence");

/* The fence for the rank of the data's window: its memory is mapped, so there is nothing to wait for. */
OMPL_EXTERN_INLINE int ompl_ctx_fence(ompl_ctx* ctx, uint32_t rank, int64_t timeout_ns) {
  const struct ompl_window* window = &ompl_windows_here()->data;
  if (__builtin_expect(ctx != OMPL_CTX_DEFAULT || rank != window->rank, 0) ||
      __builtin_expect(__atomic_load_n(&window->length, __ATOMIC_RELAXED) == 0, 0))
    return ompl_ctx_fence_call(ctx, rank, timeout_ns);
  ompl_window_store_fence();
  return OMPL_OK;
}

extern OMPL_API int ompl_ctx_atomic64_call(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op,
                                           uint64_t operand, uint64_t compare, uint64_t* before,
                                           int64_t timeout_ns) __asm__("ompl_ctx_atomic64");

/* The addition of doubles, where `op` is known when compiling; all other atomics are called. */
OMPL_EXTERN_INLINE int ompl_ctx_atomic64(ompl_ctx* ctx, uint32_t target_rank, uint64_t addr, int op,
                                         uint64_t operand, uint64_t compare, uint64_t* before,
                                         int64_t timeout_ns) {
  uint64_t* word = NULL;
  if (__builtin_constant_p(op) && op == OMPL_ATOMIC_FADD && ctx == OMPL_CTX_DEFAULT)
    word = (uint64_t*)ompl_window_word(target_rank, addr, sizeof *word);
  if (word == NULL)
    return ompl_ctx_atomic64_call(ctx, target_rank, addr, op, operand, compare, before, timeout_ns);
  if (before != NULL) ompl_window_fence_before_fetch(0);
  uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
  uint64_t sum;
  do {
    double number;
    double addend;
    memcpy(&number, &old, sizeof number);
    memcpy(&addend, &operand, sizeof addend);
    number += addend;
    memcpy(&sum, &number, sizeof sum);
  } while (!__atomic_compare_exchange_n(word, &old, sum, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  if (before != NULL) *before = old;
  ompl_window_changed(target_rank, addr);
  return OMPL_OK;
}

OMPL_EXTERN_INLINE int ompl_fetch_add32(uint32_t target_rank, uint64_t addr, uint32_t value,
                                        uint32_t* before) {
  void* word = ompl_window_word(target_rank, addr, sizeof value);
  if (__builtin_expect(word == NULL || before == NULL, 0))
    return ompl_ctx_atomic32(OMPL_CTX_DEFAULT, target_rank, addr, OMPL_ATOMIC_ADD, value, 0, before,
                             OMPL_FOREVER);
  ompl_window_fence_before_fetch(0);
  *before = __atomic_fetch_add((uint32_t*)word, value, __ATOMIC_SEQ_CST);
  ompl_window_changed(target_rank, addr);
  return OMPL_OK;
}

OMPL_EXTERN_INLINE int ompl_fetch_add64(uint32_t target_rank, uint64_t addr, uint64_t value,
                                        uint64_t* before) {
  void* word = ompl_window_word(target_rank, addr, sizeof value);
  if (__builtin_expect(word == NULL || before == NULL, 0))
    return ompl_ctx_atomic64(OMPL_CTX_DEFAULT, target_rank, addr, OMPL_ATOMIC_ADD, value, 0, before,
                             OMPL_FOREVER);
  ompl_window_fence_before_fetch(0);
  *before = __atomic_fetch_add((uint64_t*)word, value, __ATOMIC_SEQ_CST);
  ompl_window_changed(target_rank, addr);
  return OMPL_OK;
}

#endif /* OMPL_BUILDS_LIBRARY */

#undef OMPL_EXTERN_INLINE

#ifdef __cplusplus
}
#endif

#endif /* __GNUC__ */

#endif /* OMNIPGAS_OMPL_INLINE_H */
