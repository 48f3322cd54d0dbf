// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <dlfcn.h>

namespace ompl::solver {

// MPI, if the process was started with its library (LD_PRELOAD): initialised before the layer, for exchanges by MPI, and
// finalised after it. The program itself is compiled for no MPI.
class Mpi {
 public:
  [[nodiscard]] static bool present() { return ::dlsym(RTLD_DEFAULT, "MPI_Init_thread") != nullptr; }

  Mpi() {
    constexpr int kFunneled = 1;  // in MPICH's family and in Open MPI
    int provided = 0;
    if (present())
      function<int(int*, char***, int, int*)>("MPI_Init_thread")(nullptr, nullptr, kFunneled,
                                                                 &provided);
  }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  ~Mpi() {
    if (present()) function<int()>("MPI_Finalize")();
  }

 private:
  template <class F>
  static F* function(const char* name) {
    return reinterpret_cast<F*>(::dlsym(RTLD_DEFAULT, name));
  }
};

}  // namespace ompl::solver
