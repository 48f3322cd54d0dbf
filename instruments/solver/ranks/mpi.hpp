// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlfcn.h>

#include <memory>

#include "solver/cg/exchange.hpp"

namespace ompl::solver {

// Null if this process's MPI, if any, has no such function.
template <class Function>
Function* mpi_function(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

// MPI, if the process was started with its library (LD_PRELOAD): initialised before the layer, for exchanges by MPI, and
// finalised after it. The program itself is compiled for no MPI.
class Mpi {
 public:
  [[nodiscard]] static bool present() { return ::dlsym(RTLD_DEFAULT, "MPI_Init_thread") != nullptr; }

  Mpi() {
    constexpr int kFunneled = 1;  // in MPICH's family and in Open MPI
    int provided = 0;
    if (present())
      mpi_function<int(int*, char***, int, int*)>("MPI_Init_thread")(nullptr, nullptr, kFunneled,
                                                                     &provided);
  }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  ~Mpi() {
    if (present()) mpi_function<int()>("MPI_Finalize")();
  }
};

// Sums over all ranks by MPI_Iallreduce() on MPI_COMM_WORLD, of the MPI that this process has initialised; to be moved on
// by the thread that did. All ranks get the same bits, as MPI demands. Throws std::runtime_error if MPI says of an error,
// or has no such function.
[[nodiscard]] std::unique_ptr<OverlappedReduction> make_mpi_sums();

}  // namespace ompl::solver
