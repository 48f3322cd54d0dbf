// SPDX-License-Identifier: BSD-3-Clause
// All strategies inside a program of MPI, compiled once with the wrapper of each MPI found. One thread calls MPI, and says
// so: more would make MPI slower.
#include <mpi.h>
#include <omnipgas/ompl_ext.h>
#include <sched.h>

#include "adapters/mpi_about.hpp"
#include "halo/worker.hpp"

namespace {

class Mpi {
 public:
  Mpi(int argc, char** argv) {
    int granted = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &granted);
  }
  ~Mpi() { MPI_Finalize(); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  [[nodiscard]] static std::map<std::string, std::string> details() {
    return {{"library", bench::mpi_version().substr(0, 400)}};
  }

  static void meet() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int all = 0; all == 0; sched_yield()) {
      MPI_Test(&request, &all, MPI_STATUS_IGNORE);
      const int code = ompl_progress(OMPL_CTX_DEFAULT, 0);
      if (code < 0 && code != OMPL_ERR_TIMEOUT) bench::give_up("ompl_progress");
    }
  }
};

}  // namespace

int main(int argc, char** argv) { return bench::halo::worker_main<Mpi>(argc, argv); }
