// SPDX-License-Identifier: BSD-3-Clause
// A context of OpenSHMEM, or the default one, which all may use, where the library grants none.
#pragma once

#include <shmem.h>
#ifdef OSHMEM_MAJOR_VERSION
#include <mpi.h>
#endif

#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "harness/adapter.hpp"

namespace bench {

// What a context that one thread uses may be created with. Open MPI takes no locks in a serialized one, yet a thread that
// waits for room drives the contexts of all threads: messages were lost and ranks crashed (docs/performance/libraries.md).
#ifdef OSHMEM_MAJOR_VERSION
inline constexpr long kOneThread = 0;
#else
inline constexpr long kOneThread = SHMEM_CTX_SERIALIZED;
#endif

// Lets the library go on with what it has not sent yet and with what the peer asks of it. Open MPI's does so in its waits
// only, not when it tests a flag, nor in a fence or quiet that has nothing to wait for; but in calls of its MPI, which it
// has started (instruments/bench/evidence/oshmem_progress.c).
inline void drive(shmem_ctx_t context) {
#ifdef OSHMEM_MAJOR_VERSION
  static_cast<void>(context);
  int there = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
#else
  shmem_ctx_quiet(context);
#endif
}

// Cleared memory, page-aligned, at the same place of every rank. Throws std::runtime_error.
inline std::byte* symmetric_memory(std::size_t bytes) {
  void* const memory = shmem_align(kPage, bytes);
  if (memory == nullptr) throw std::runtime_error("no symmetric memory: raise SHMEM_SYMMETRIC_SIZE");
  return static_cast<std::byte*>(std::memset(memory, 0, bytes));
}

struct alignas(128) ShmemContext {
  void create(bool shared) {
    own = shmem_ctx_create(shared ? 0 : kOneThread, &handle) == 0;
    if (!own) handle = SHMEM_CTX_DEFAULT;
  }
  void destroy() const {
    if (own) shmem_ctx_destroy(handle);
  }

  shmem_ctx_t handle = SHMEM_CTX_DEFAULT;
  bool own = false;
};

}  // namespace bench
