// SPDX-License-Identifier: BSD-3-Clause
// What the generated functions of OpenSHMEM call: the same operations without types. Unless said otherwise a function
// returns OMPL_OK or an error of the layer, which expect() makes the end of the job, as OpenSHMEM's functions return none;
// with `refuse()` its text is the core's own. Any thread, between init() and finalize().
#pragma once

#include <omnipgas/coll.h>
#include <omnipgas/ompl_memory.h>
#include <shmem.h>

#include <complex.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace shmem_core {

// --- Errors
// Ends the job: says which function failed and why.
[[noreturn]] void failed(const char* function, int code);
// Notes why the caller's function fails, and returns the code.
[[gnu::format(printf, 2, 3)]] int refuse(int code, const char* format, ...);
inline void expect(int code, const char* function) {
  if (code != OMPL_OK) [[unlikely]]
    failed(function, code);
}
template <class T>
void ignore(const T& /*value*/) {}

// --- Setup (setup.cpp). init() and start() end the process if the job cannot start.
int init();
int start();  // start_pes(): once, and ended by the end of the process
int init_thread(int requested, int* provided);
int query_thread(int* provided);
void query_initialized(int* initialized);
int finalize();
[[noreturn]] void global_exit(int status);
int my_pe();
int n_pes();
int pe_accessible(int pe);
int addr_accessible(const void* address, int pe);
void* pointer(const void* address, int pe);
int info_version(int* major, int* minor);
int info_name(char* name);

// --- Symmetric memory (memory.cpp): collective. No room is no error: the result is null.
constexpr std::size_t kAnyAlignment = 64;
int allocate(std::size_t size, std::size_t alignment, void** result);
int allocate_zero(std::size_t count, std::size_t size, void** result);
int reallocate(void* block, std::size_t size, void** result);
int release(void* block);

// --- Remote memory access (rma.cpp). Lengths in bytes.
// No block of memory is longer.
constexpr std::size_t kMostBytes = static_cast<std::size_t>(std::numeric_limits<ptrdiff_t>::max());
// Bytes of so many elements; kMostBytes where they are more than that, for which no symmetric memory is found.
constexpr std::size_t bytes_of(std::size_t elements, std::size_t size) {
  std::size_t bytes = 0;
  return __builtin_mul_overflow(elements, size, &bytes) || bytes > kMostBytes ? kMostBytes : bytes;
}
int put(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length, int pe);
int get(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length, int pe);
int put_nbi(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length, int pe);
int get_nbi(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length, int pe);
// `blocks` blocks of `block` elements; strides between the beginnings of blocks, in elements.
struct Blocks {
  ptrdiff_t dest_stride;
  ptrdiff_t source_stride;
  std::size_t element;  // bytes
  std::size_t block;
  std::size_t blocks;
};
int iput(shmem_ctx_t ctx, void* dest, const void* source, const Blocks& shape, int pe);
int iget(shmem_ctx_t ctx, void* dest, const void* source, const Blocks& shape, int pe);

// --- Signalling (rma.cpp)
struct Signal {
  uint64_t* address;
  uint64_t value;
  int op;  // SHMEM_SIGNAL_SET, SHMEM_SIGNAL_ADD
};
int put_signal(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length,
               const Signal& signal, int pe);
int put_signal_nbi(shmem_ctx_t ctx, void* dest, const void* source, std::size_t length,
                   const Signal& signal, int pe);
int send_signal(shmem_ctx_t ctx, const Signal& signal, int pe);
int signal_fetch(const uint64_t* address, uint64_t* result);
int signal_wait_until(uint64_t* address, int comparison, uint64_t value, uint64_t* result);

// --- Atomics (atomics.cpp) on words of 32 and 64 bits; before may be null
int atomic(shmem_ctx_t ctx, const void* address, int op, uint32_t operand, uint32_t compare,
           uint32_t* before, int pe);
int atomic(shmem_ctx_t ctx, const void* address, int op, uint64_t operand, uint64_t compare,
           uint64_t* before, int pe);
// *before is there after a quiet of the context.
int atomic_nbi(shmem_ctx_t ctx, const void* address, int op, uint32_t operand, uint32_t compare,
               uint32_t* before, int pe);
int atomic_nbi(shmem_ctx_t ctx, const void* address, int op, uint64_t operand, uint64_t compare,
               uint64_t* before, int pe);

template <class T>
using WordOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <class T>
WordOf<T> bits(T value) {
  WordOf<T> word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}
template <class T>
int fetching(shmem_ctx_t ctx, const T* address, int op, T operand, T compare, T* before, int pe) {
  WordOf<T> word{};
  const int code = atomic(ctx, address, op, bits(operand), bits(compare), &word, pe);
  std::memcpy(before, &word, sizeof word);
  return code;
}
template <class T>
int fetching_nbi(shmem_ctx_t ctx, const T* address, int op, T operand, T compare, T* before, int pe) {
  return atomic_nbi(ctx, address, op, bits(operand), bits(compare),
                    reinterpret_cast<WordOf<T>*>(before), pe);
}
template <class T>
int updating(shmem_ctx_t ctx, T* address, int op, T operand, int pe) {
  return atomic(ctx, address, op, bits(operand), WordOf<T>{}, nullptr, pe);
}

// --- Waits and tests (waits.cpp)
struct Word {
  const volatile void* address;
  uint32_t width;  // bits
  bool is_signed;
  int comparison;  // SHMEM_CMP_*
  uint64_t value;
};
template <class T>
Word word(const volatile T* address, int comparison, T value) {
  return {address, sizeof(T) * 8, std::is_signed_v<T>, comparison, static_cast<uint64_t>(value)};
}
int wait_until(const Word& word);
int test(const Word& word, int* result);

// Several words of one type; those with status[i] != 0 are left out.
struct Words {
  Word first;  // its value is not used
  std::size_t count;
  const int* status;  // may be null
  const void* values;
  bool vector;  // a value for each word, not one for all

  [[nodiscard]] bool in(std::size_t i) const { return status == nullptr || status[i] == 0; }
  [[nodiscard]] Word at(std::size_t i) const;
};
template <class T>
Words words(const volatile T* addresses, std::size_t count, const int* status, int comparison,
            const T* values, bool vector) {
  return {word<T>(addresses, comparison, T{}), count, status, values, vector};
}
int wait_all(const Words& words);
int test_all(const Words& words, int* result);
int await_any(const Words& words, std::size_t* result, bool waits);
int await_some(const Words& words, std::size_t* indices, std::size_t* result, bool waits);

// --- Teams (teams.cpp) and contexts (contexts.cpp); results are as the specification has them
struct Triplet {
  int start;
  int stride;
  int size;
};
struct TeamOptions {
  const shmem_team_config_t* config;
  long mask;
};
int team_my_pe(shmem_team_t team);
int team_n_pes(shmem_team_t team);
int team_get_config(shmem_team_t team, long mask, shmem_team_config_t* config);
int team_translate(shmem_team_t from, int pe, shmem_team_t to);
int split_strided(shmem_team_t parent, const Triplet& members, const TeamOptions& options,
                  shmem_team_t* team);
int split_2d(shmem_team_t parent, int range, const TeamOptions& x_options, shmem_team_t* x_team,
             const TeamOptions& y_options, shmem_team_t* y_team);
int team_destroy(shmem_team_t team);
void* team_pointer(shmem_team_t team, const void* address, int pe);
int ctx_create(shmem_team_t team, long options, shmem_ctx_t* ctx);
int ctx_destroy(shmem_ctx_t ctx);
int ctx_get_team(shmem_ctx_t ctx, shmem_team_t* team);
// Hints.
int session_start(shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t* config, long mask);
int session_stop(shmem_ctx_t ctx);

// --- Order (contexts.cpp) and locks (locks.cpp)
int fence(shmem_ctx_t ctx);
int quiet(shmem_ctx_t ctx);
int pe_quiet(shmem_ctx_t ctx, const int* pes, std::size_t count);
int set_lock(long* lock);
int clear_lock(long* lock);
int test_lock(long* lock, int* result);  // 0: it is set now, 1: it was set already

// --- Collectives (collectives.cpp). Of a team: 0, or -1 for a handle that is none; errors end the job.
struct ActiveSet {
  int start;
  int log_stride;
  int size;
};
constexpr int kLongDouble = 1000;  // beside OMPL_INT8 ... OMPL_DOUBLE_COMPLEX

template <class T>
constexpr int integer_type() {
  constexpr int kBase = sizeof(T) == 1   ? OMPL_INT8
                        : sizeof(T) == 2 ? OMPL_INT16
                        : sizeof(T) == 4 ? OMPL_INT32
                                         : OMPL_INT64;
  return std::is_signed_v<T> ? kBase : kBase + 1;
}

int sync_all();
int barrier_all();
int team_sync(shmem_team_t team);
int broadcast(shmem_team_t team, void* dest, const void* source, std::size_t length, int root);
int collect(shmem_team_t team, void* dest, const void* source, std::size_t length);
int fcollect(shmem_team_t team, void* dest, const void* source, std::size_t length);
int alltoall(shmem_team_t team, void* dest, const void* source, std::size_t length);
int alltoalls(shmem_team_t team, void* dest, const void* source, const Blocks& shape);
int reduce(shmem_team_t team, void* dest, const void* source, std::size_t count, int type, int op);
int scan(shmem_team_t team, void* dest, const void* source, std::size_t count, int type,
         std::size_t element, bool inclusive);

int active_sync(const ActiveSet& set);
int active_barrier(const ActiveSet& set);
int active_broadcast(const ActiveSet& set, void* dest, const void* source, std::size_t length,
                     int root);
int active_collect(const ActiveSet& set, void* dest, const void* source, std::size_t length);
int active_fcollect(const ActiveSet& set, void* dest, const void* source, std::size_t length);
int active_alltoall(const ActiveSet& set, void* dest, const void* source, std::size_t length);
int active_alltoalls(const ActiveSet& set, void* dest, const void* source, const Blocks& shape);
int active_reduce(const ActiveSet& set, void* dest, const void* source, int count, int type, int op);

}  // namespace shmem_core
