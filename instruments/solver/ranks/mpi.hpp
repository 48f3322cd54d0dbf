// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlfcn.h>

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

}  // namespace ompl::solver
