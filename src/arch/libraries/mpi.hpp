// SPDX-License-Identifier: BSD-3-Clause
// An MPI library in the same process, found through the dynamic linker: no header of it, nothing linked.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <mutex>

namespace ompl::arch {

// The binary interfaces there are. Handles are int in MPICH's, which Intel MPI and others share, else pointers.
enum class MpiAbi : uint8_t {
  mpich,
  open_mpi,
  standard,  // of MPI 5.0
};

enum class MpiPhase { absent, before_init, running, finalized };

// Where this process's MPI stands.
MpiPhase mpi_phase();

// Of this process's MPI, which is there.
MpiAbi mpi_abi();

// Names of MPI that stand for different values in each interface. Handle is int or void*, as mpi_abi() says.
template <class Handle>
struct MpiConstants {
  Handle world, self, byte, info_null, errors_return;
  void* status_ignore;
  int any_source, mode_nocheck;
  int funneled, serialized, multiple;
};
template <class Handle>
MpiConstants<Handle> mpi_constants();

// Null if this process's MPI, if any, has no such function or data. It may have been loaded in any way.
void* mpi_symbol(const char* name);
template <class Function>
Function* mpi_function(const char* name) {
  return reinterpret_cast<Function*>(mpi_symbol(name));
}

// The same, of the type of the pointer that it initialises.
struct MpiFunction {
  const char* name;

  template <class Function>
  operator Function*() const {  // NOLINT(google-explicit-constructor)
    return mpi_function<Function>(name);
  }
};

// Held around every call of MPI where that allows one thread at a time (MPI_THREAD_SERIALIZED).
std::mutex& mpi_mutex();
// Whether this thread holds it by ompl_mpi_lock().
bool& mpi_locked_by_user();

}  // namespace ompl::arch
