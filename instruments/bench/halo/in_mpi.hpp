// SPDX-License-Identifier: BSD-3-Clause
// How ranks came to be: as a program of MPI. One thread calls MPI, and says so: more would make MPI slower.
#pragma once

#include <mpi.h>
#include <omnipgas/ompl_ext.h>
#include <sched.h>

#include <map>
#include <string>

#include "adapters/mpi_about.hpp"
#include "harness/must.hpp"

namespace bench::halo {

class InMpi {
 public:
  InMpi(int argc, char** argv) : mpi_(argc, argv, MPI_THREAD_FUNNELED) {}

  [[nodiscard]] static std::map<std::string, std::string> details() {
    return {{"library", mpi_version().substr(0, 400)}};
  }

  static void meet() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int all = 0; all == 0; sched_yield()) {
      MPI_Test(&request, &all, MPI_STATUS_IGNORE);
      must(progress(), "ompl_progress");
    }
  }

 private:
  MpiRank mpi_;
};

}  // namespace bench::halo
