// SPDX-License-Identifier: BSD-3-Clause
#include <omnipgas/ompl_inline.h>

#include "core/state.hpp"

namespace shmem_core {
namespace {

// The layer's functions for words of both widths.
int on_context(ompl_ctx* ctx, uint32_t rank, uint64_t offset, int op, uint32_t operand,
               uint32_t compare, uint32_t* before) {
  return ompl_ctx_atomic32(ctx, rank, offset, op, operand, compare, before, OMPL_FOREVER);
}
int on_context(ompl_ctx* ctx, uint32_t rank, uint64_t offset, int op, uint64_t operand,
               uint64_t compare, uint64_t* before) {
  return ompl_ctx_atomic64(ctx, rank, offset, op, operand, compare, before, OMPL_FOREVER);
}
int without_waiting(ompl_ctx* ctx, uint32_t rank, uint64_t offset, int op, uint32_t operand,
                    uint32_t compare, uint32_t* before, ompl_handle* handle) {
  return ompl_atomic32_nb(ctx, rank, offset, op, operand, compare, before, handle);
}
int without_waiting(ompl_ctx* ctx, uint32_t rank, uint64_t offset, int op, uint64_t operand,
                    uint64_t compare, uint64_t* before, ompl_handle* handle) {
  return ompl_atomic64_nb(ctx, rank, offset, op, operand, compare, before, handle);
}

// On the implicit context: the functions by name find the word by the thread's window.
int fetching_by_name(uint32_t rank, uint64_t offset, int op, uint32_t operand, uint32_t compare,
                     uint32_t* before) {
  switch (op) {
    case OMPL_ATOMIC_ADD:
      return ompl_fetch_add32(rank, offset, operand, before);
    case OMPL_ATOMIC_SET:
      return ompl_swap32(rank, offset, operand, before);
    case OMPL_ATOMIC_CSWAP:
      return ompl_compare_swap32(rank, offset, compare, operand, before);
    case OMPL_ATOMIC_FETCH:
      return ompl_fetch32(rank, offset, before);
    default:
      return on_context(OMPL_CTX_DEFAULT, rank, offset, op, operand, compare, before);
  }
}
int fetching_by_name(uint32_t rank, uint64_t offset, int op, uint64_t operand, uint64_t compare,
                     uint64_t* before) {
  switch (op) {
    case OMPL_ATOMIC_ADD:
      return ompl_fetch_add64(rank, offset, operand, before);
    case OMPL_ATOMIC_SET:
      return ompl_swap64(rank, offset, operand, before);
    case OMPL_ATOMIC_CSWAP:
      return ompl_compare_swap64(rank, offset, compare, operand, before);
    case OMPL_ATOMIC_FETCH:
      return ompl_fetch64(rank, offset, before);
    default:
      return on_context(OMPL_CTX_DEFAULT, rank, offset, op, operand, compare, before);
  }
}
int updating_by_name(uint32_t rank, uint64_t offset, int op, uint32_t operand) {
  switch (op) {
    case OMPL_ATOMIC_ADD:
      return ompl_add32(rank, offset, operand);
    case OMPL_ATOMIC_SET:
      return ompl_set32(rank, offset, operand);
    case OMPL_ATOMIC_AND:
      return ompl_and32(rank, offset, operand);
    case OMPL_ATOMIC_OR:
      return ompl_or32(rank, offset, operand);
    default:
      return ompl_xor32(rank, offset, operand);
  }
}
int updating_by_name(uint32_t rank, uint64_t offset, int op, uint64_t operand) {
  switch (op) {
    case OMPL_ATOMIC_ADD:
      return ompl_add64(rank, offset, operand);
    case OMPL_ATOMIC_SET:
      return ompl_set64(rank, offset, operand);
    case OMPL_ATOMIC_AND:
      return ompl_and64(rank, offset, operand);
    case OMPL_ATOMIC_OR:
      return ompl_or64(rank, offset, operand);
    default:
      return ompl_xor64(rank, offset, operand);
  }
}

template <class Word>
int blocking(shmem_ctx_t ctx, const void* address, int op, Word operand, Word compare, Word* before,
             int pe) {
  const uint64_t offset = offset_of(address, sizeof(Word));
  if (offset == 0) return not_symmetric(address, sizeof(Word));
  const Target to = target(ctx, pe, true);
  if (to.rank == own_rank()) progress_in_loops();
  if (to.ctx != OMPL_CTX_DEFAULT)
    return on_context(to.ctx, to.rank, offset, op, operand, compare, before);
  if (before == nullptr) return updating_by_name(to.rank, offset, op, operand);
  return fetching_by_name(to.rank, offset, op, operand, compare, before);
}

// The context keeps the handle of what is not complete at once.
template <class Word>
int nonblocking(shmem_ctx_t ctx, const void* address, int op, Word operand, Word compare, Word* before,
                int pe) {
  const uint64_t offset = offset_of(address, sizeof(Word));
  if (offset == 0) return not_symmetric(address, sizeof(Word));
  const Target to = target(ctx, pe);
  ompl_handle handle = OMPL_HANDLE_INIT;
  const int code = until_accepted(to.ctx, [&] {
    return without_waiting(to.ctx, to.rank, offset, op, operand, compare, before, &handle);
  });
  if (code != OMPL_PENDING) return code;
  Results& results = results_of(ctx);
  bool many = false;
  {
    const std::lock_guard lock(results.mutex);
    results.handles.push_back(handle);
    many = results.handles.size() >= kMostResults;
  }
  return many ? await_results(results) : OMPL_OK;
}

}  // namespace

int await_results(Results& results) {
  const std::lock_guard lock(results.mutex);  // kept, so that another thread's quiet waits too
  if (results.handles.empty()) return OMPL_OK;
  const int code = ompl_handle_wait_all(OMPL_CTX_DEFAULT, results.handles.data(),
                                        results.handles.size(), OMPL_FOREVER);
  results.handles.clear();
  return code;
}

int atomic(shmem_ctx_t ctx, const void* address, int op, uint32_t operand, uint32_t compare,
           uint32_t* before, int pe) {
  return blocking(ctx, address, op, operand, compare, before, pe);
}

int atomic(shmem_ctx_t ctx, const void* address, int op, uint64_t operand, uint64_t compare,
           uint64_t* before, int pe) {
  return blocking(ctx, address, op, operand, compare, before, pe);
}

int atomic_nbi(shmem_ctx_t ctx, const void* address, int op, uint32_t operand, uint32_t compare,
               uint32_t* before, int pe) {
  return nonblocking(ctx, address, op, operand, compare, before, pe);
}

int atomic_nbi(shmem_ctx_t ctx, const void* address, int op, uint64_t operand, uint64_t compare,
               uint64_t* before, int pe) {
  return nonblocking(ctx, address, op, operand, compare, before, pe);
}

}  // namespace shmem_core
