/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of <shmem.h> on the default context whose target is mapped memory, compiled into the caller: <shmem.h> includes
 * this by itself, unless SHMEM_NO_INLINE is defined. Whatever is not the quick case calls the library's function of the
 * same name, so meaning, checks and errors are the same. The quick case: the PE and the allocation that the thread's
 * last call to the library had (its windows, <omnipgas/ompl_inline.h>).
 *
 * What is declared here is bound to the library's soname and not for use.
 */
#ifndef OMNIPGAS_SHMEM_INLINE_H
#define OMNIPGAS_SHMEM_INLINE_H

#include <omnipgas/ompl_inline.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the calling PE has symmetric memory. Written by shmem_init() and shmem_finalize(). */
struct shmem_impl_places {
  uint64_t heap; /* where offset 0 is mapped; such that no address fits, while nothing may be inlined */
  uint64_t data; /* static data of the executable: first address, */
  uint64_t data_length; /* bytes, 0 while nothing may be inlined, */
  uint64_t data_offset; /* offset */
  int looping;          /* the PE whose reads must call the library, which progresses; -1: none */
  int memory_only;      /* the memory of all PEs is mapped, and functions may be inlined */
  uint64_t reads; /* `heap` for reads; such that no address fits, while `looping` names a PE too */
};
extern SHMEM_API struct shmem_impl_places shmem_impl_places;

/* GNU inline: only ever expanded; whoever takes the address of a function gets the library's. */
#define SHMEM_IMPL_INLINE extern inline __attribute__((gnu_inline, always_inline))

/* Whether [offset, offset + length) of the PE lies in the window. What ompl_window_holds() says, in as few instructions as
 * a get of 8 bytes can bear beside the translation of its address: one comparison for both ends, and the difference made
 * once (the compiler would make it anew from its parts). */
SHMEM_IMPL_INLINE int shmem_impl_holds(const struct ompl_window* window, uint64_t offset, size_t length,
                                       int pe) {
  uint64_t inside = offset - window->begin;
  uint64_t end;
  if (__builtin_expect((uint32_t)pe != window->rank, 0)) return 0;
  __asm__("" : "+r"(inside));
  if (__builtin_expect(__builtin_add_overflow(inside, (uint64_t)length, &end), 0)) return 0;
  return end <= __atomic_load_n(&window->length, __ATOMIC_RELAXED);
}

/* The offset of an address that is static data, or of the heap. */
SHMEM_IMPL_INLINE uint64_t shmem_impl_offset(uint64_t place) {
  const uint64_t inside = place - shmem_impl_places.data;
  if (inside < shmem_impl_places.data_length) return inside + shmem_impl_places.data_offset;
  return place - shmem_impl_places.heap;
}

/* Whether these bytes of the PE lie in the window; *at: where they are mapped. `reads`: 1 for what may be waited for in a
 * loop, so that the answer may be no for the PE itself. */
SHMEM_IMPL_INLINE int shmem_impl_at(const struct ompl_window* window, int reads, const void* address,
                                    size_t length, int pe, unsigned char** at) {
  const uint64_t place = (uint64_t)(uintptr_t)address;
  uint64_t offset = place - (reads ? shmem_impl_places.reads : shmem_impl_places.heap);
  __asm__("" : "+r"(offset));
  if (__builtin_expect(!shmem_impl_holds(window, offset, length, pe), 0)) {
    if (reads && pe == shmem_impl_places.looping) return 0;
    /* Reads the window anew, so that the quick case needs no registers for it; a get is faster with them. */
    if (!reads) __asm__ volatile("" ::: "memory");
    offset = shmem_impl_offset(place);
    if (!shmem_impl_holds(window, offset, length, pe)) return 0;
  }
  *at = window->base + offset;
  return 1;
}

/* Bytes of so many elements; where they are too many, a length that is in no window. */
SHMEM_IMPL_INLINE size_t shmem_impl_bytes(size_t nelems, size_t size) {
  return __builtin_expect(nelems > SIZE_MAX / size, 0) ? SIZE_MAX : nelems * size;
}

/* Each 1 if it is done. */
SHMEM_IMPL_INLINE int shmem_impl_put(void* dest, const void* source, size_t length, int pe) {
  unsigned char* to;
  if (__builtin_expect(length > OMPL_WINDOW_BULK, 0)) return 0;
  if (!shmem_impl_at(&ompl_windows_here()->data, 0, dest, length, pe, &to)) return 0;
  ompl_window_copy(to, source, length);
  return 1;
}
SHMEM_IMPL_INLINE int shmem_impl_get(void* dest, const void* source, size_t length, int pe) {
  unsigned char* from;
  if (!shmem_impl_at(&ompl_windows_here()->data, 1, source, length, pe, &from)) return 0;
  ompl_window_copy(dest, from, length);
  return 1;
}

/* Whether the PE's word is mapped; *word: where. The second for atomics, which may be waited for in a loop. */
SHMEM_IMPL_INLINE int shmem_impl_word(const void* address, size_t width, int pe, unsigned char** word) {
  if (__builtin_expect((uintptr_t)address % width != 0, 0)) return 0;
  return shmem_impl_at(&ompl_windows_here()->flag, 0, address, width, pe, word);
}
SHMEM_IMPL_INLINE int shmem_impl_atomic(const void* address, size_t width, int pe,
                                        unsigned char** word) {
  if (__builtin_expect((uintptr_t)address % width != 0, 0)) return 0;
  return shmem_impl_at(&ompl_windows_here()->flag, 1, address, width, pe, word);
}
/* Wakes who waits for a word of the flags' window that was changed. */
SHMEM_IMPL_INLINE void shmem_impl_changed(const void* word, int pe) {
  const unsigned char* base = ompl_windows_here()->flag.base;
  ompl_window_changed((uint32_t)pe, (uint64_t)((const unsigned char*)word - base));
}
SHMEM_IMPL_INLINE int shmem_impl_signal_word(const uint64_t* address, int op, int pe,
                                             unsigned char** word) {
  if (op != SHMEM_SIGNAL_SET && op != SHMEM_SIGNAL_ADD) return 0;
  return shmem_impl_word(address, sizeof(uint64_t), pe, word);
}
SHMEM_IMPL_INLINE void shmem_impl_signal(unsigned char* place, uint64_t value, int op, int pe) {
  uint64_t* word = (uint64_t*)(void*)place;
  if (op == SHMEM_SIGNAL_ADD)
    __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
  else
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
  shmem_impl_changed(word, pe);
}

/* Declares the library's function shmem_NAME as shmem_impl_call_NAME. */
#define SHMEM_IMPL_CALL(result, name, parameters) \
  extern SHMEM_API result shmem_impl_call_##name parameters __asm__("shmem_" #name);

#define SHMEM_IMPL_PUT(name, type, size)                                                       \
  SHMEM_IMPL_CALL(void, name, (type*, const type*, size_t, int))                               \
  SHMEM_IMPL_INLINE void shmem_##name(type* dest, const type* source, size_t nelems, int pe) { \
    if (!shmem_impl_put(dest, source, shmem_impl_bytes(nelems, size), pe))                     \
      shmem_impl_call_##name(dest, source, nelems, pe);                                        \
  }
#define SHMEM_IMPL_GET(name, type, size)                                                       \
  SHMEM_IMPL_CALL(void, name, (type*, const type*, size_t, int))                               \
  SHMEM_IMPL_INLINE void shmem_##name(type* dest, const type* source, size_t nelems, int pe) { \
    if (!shmem_impl_get(dest, source, shmem_impl_bytes(nelems, size), pe))                     \
      shmem_impl_call_##name(dest, source, nelems, pe);                                        \
  }
#define SHMEM_IMPL_P(name, type)                                                                  \
  SHMEM_IMPL_CALL(void, name, (type*, type, int))                                                 \
  SHMEM_IMPL_INLINE void shmem_##name(type* dest, type value, int pe) {                           \
    if (!shmem_impl_put(dest, &value, sizeof(type), pe)) shmem_impl_call_##name(dest, value, pe); \
  }
#define SHMEM_IMPL_G(name, type)                                                                      \
  SHMEM_IMPL_CALL(type, name, (const type*, int))                                                     \
  SHMEM_IMPL_INLINE type shmem_##name(const type* source, int pe) {                                   \
    type value;                                                                                       \
    if (!shmem_impl_get(&value, source, sizeof(type), pe)) return shmem_impl_call_##name(source, pe); \
    return value;                                                                                     \
  }
#define SHMEM_IMPL_PUT_SIGNAL(name, type, size)                                                  \
  SHMEM_IMPL_CALL(void, name, (type*, const type*, size_t, uint64_t*, uint64_t, int, int))       \
  SHMEM_IMPL_INLINE void shmem_##name(type* dest, const type* source, size_t nelems,             \
                                      uint64_t* sig_addr, uint64_t signal, int sig_op, int pe) { \
    unsigned char* word;                                                                         \
    if (shmem_impl_signal_word(sig_addr, sig_op, pe, &word) &&                                   \
        shmem_impl_put(dest, source, shmem_impl_bytes(nelems, size), pe))                        \
      shmem_impl_signal(word, signal, sig_op, pe);                                               \
    else                                                                                         \
      shmem_impl_call_##name(dest, source, nelems, sig_addr, signal, sig_op, pe);                \
  }
#define SHMEM_IMPL_SIGNAL(name, op)                                                  \
  SHMEM_IMPL_CALL(void, name, (uint64_t*, uint64_t, int))                            \
  SHMEM_IMPL_INLINE void shmem_##name(uint64_t* sig_addr, uint64_t signal, int pe) { \
    unsigned char* word;                                                             \
    if (shmem_impl_signal_word(sig_addr, op, pe, &word))                             \
      shmem_impl_signal(word, signal, op, pe);                                       \
    else                                                                             \
      shmem_impl_call_##name(sig_addr, signal, pe);                                  \
  }

/* `call`: the arguments; `operand`: what the word is changed by. */
#define SHMEM_IMPL_FETCHING(name, type, parameters, call, operation, operand)                  \
  SHMEM_IMPL_CALL(type, name, parameters)                                                      \
  SHMEM_IMPL_INLINE type shmem_##name parameters {                                             \
    type before;                                                                               \
    unsigned char* word;                                                                       \
    if (!shmem_impl_atomic(dest, sizeof(type), pe, &word)) return shmem_impl_call_##name call; \
    ompl_window_fence_before_fetch(0);                                                         \
    before = __atomic_fetch_##operation((type*)(void*)word, operand, __ATOMIC_SEQ_CST);        \
    shmem_impl_changed(word, pe);                                                              \
    return before;                                                                             \
  }
#define SHMEM_IMPL_UPDATING(name, type, parameters, call, operation, operand)  \
  SHMEM_IMPL_CALL(void, name, parameters)                                      \
  SHMEM_IMPL_INLINE void shmem_##name parameters {                             \
    unsigned char* word;                                                       \
    if (!shmem_impl_atomic(dest, sizeof(type), pe, &word)) {                   \
      shmem_impl_call_##name call;                                             \
      return;                                                                  \
    }                                                                          \
    __atomic_fetch_##operation((type*)(void*)word, operand, __ATOMIC_SEQ_CST); \
    shmem_impl_changed(word, pe);                                              \
  }
#define SHMEM_IMPL_ATOMIC_FETCH_OP(name, type, operation)                                          \
  SHMEM_IMPL_FETCHING(name, type, (type * dest, type value, int pe), (dest, value, pe), operation, \
                      value)
#define SHMEM_IMPL_ATOMIC_FETCH_INC(name, type) \
  SHMEM_IMPL_FETCHING(name, type, (type * dest, int pe), (dest, pe), add, 1)
#define SHMEM_IMPL_ATOMIC_OP(name, type, operation)                                                \
  SHMEM_IMPL_UPDATING(name, type, (type * dest, type value, int pe), (dest, value, pe), operation, \
                      value)
#define SHMEM_IMPL_ATOMIC_INC(name, type) \
  SHMEM_IMPL_UPDATING(name, type, (type * dest, int pe), (dest, pe), add, 1)
#define SHMEM_IMPL_ATOMIC_COMPARE_SWAP(name, type)                                     \
  SHMEM_IMPL_CALL(type, name, (type*, type, type, int))                                \
  SHMEM_IMPL_INLINE type shmem_##name(type* dest, type cond, type value, int pe) {     \
    unsigned char* word;                                                               \
    if (!shmem_impl_atomic(dest, sizeof(type), pe, &word))                             \
      return shmem_impl_call_##name(dest, cond, value, pe);                            \
    ompl_window_fence_before_fetch(0);                                                 \
    __atomic_compare_exchange_n((type*)(void*)word, &cond, value, 0, __ATOMIC_SEQ_CST, \
                                __ATOMIC_SEQ_CST);                                     \
    shmem_impl_changed(word, pe);                                                      \
    return cond;                                                                       \
  }
#define SHMEM_IMPL_ATOMIC_SWAP(name, type)                                    \
  SHMEM_IMPL_CALL(type, name, (type*, type, int))                             \
  SHMEM_IMPL_INLINE type shmem_##name(type* dest, type value, int pe) {       \
    type before;                                                              \
    unsigned char* word;                                                      \
    if (!shmem_impl_atomic(dest, sizeof(type), pe, &word))                    \
      return shmem_impl_call_##name(dest, value, pe);                         \
    ompl_window_fence_before_fetch(0);                                        \
    __atomic_exchange((type*)(void*)word, &value, &before, __ATOMIC_SEQ_CST); \
    shmem_impl_changed(word, pe);                                             \
    return before;                                                            \
  }
#define SHMEM_IMPL_ATOMIC_FETCH(name, type)                         \
  SHMEM_IMPL_CALL(type, name, (const type*, int))                   \
  SHMEM_IMPL_INLINE type shmem_##name(const type* source, int pe) { \
    type value;                                                     \
    unsigned char* word;                                            \
    if (!shmem_impl_atomic(source, sizeof(type), pe, &word))        \
      return shmem_impl_call_##name(source, pe);                    \
    ompl_window_fence_before_fetch(1);                              \
    __atomic_load((type*)(void*)word, &value, __ATOMIC_SEQ_CST);    \
    return value;                                                   \
  }
#define SHMEM_IMPL_ATOMIC_SET(name, type)                               \
  SHMEM_IMPL_CALL(void, name, (type*, type, int))                       \
  SHMEM_IMPL_INLINE void shmem_##name(type* dest, type value, int pe) { \
    unsigned char* word;                                                \
    if (!shmem_impl_atomic(dest, sizeof(type), pe, &word)) {            \
      shmem_impl_call_##name(dest, value, pe);                          \
      return;                                                           \
    }                                                                   \
    __atomic_store((type*)(void*)word, &value, __ATOMIC_SEQ_CST);       \
    shmem_impl_changed(word, pe);                                       \
  }
/* fence and quiet: nothing is under way but the stores of this core. Without a window, as in a traced program, the call is not
 * saved. */
SHMEM_IMPL_INLINE int shmem_impl_order(void) {
  const uint64_t* length = &ompl_windows_here()->data.length;
  if (!shmem_impl_places.memory_only || __atomic_load_n(length, __ATOMIC_RELAXED) == 0) return 0;
  ompl_window_fence();
  return 1;
}
#define SHMEM_IMPL_ORDER(name)                         \
  SHMEM_IMPL_CALL(void, name, (void))                  \
  SHMEM_IMPL_INLINE void shmem_##name(void) {          \
    if (!shmem_impl_order()) shmem_impl_call_##name(); \
  }

#ifdef __cplusplus
}
#endif

#endif
