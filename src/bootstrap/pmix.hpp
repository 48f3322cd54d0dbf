// SPDX-License-Identifier: BSD-3-Clause
// A client of PMIx, the protocol of Open MPI's mpirun, prterun and Slurm (`srun --mpi=pmix`). Clients and
// servers of different versions must suit each other, so the library is not linked but chosen at run time
// (pmix_library.hpp).
//
// Sharing libpmix with MPI. Open MPI initialises the same library, which counts how often. A program may
// call MPI_Init while this session is open, or after it; but libpmix may not begin again once its count
// came to zero. Hence finish() puts the end off to the exit of the process while MPI may still come. (Open
// MPI 5 fails all the same: connect() sees to it.)
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "bootstrap/bootstrap.hpp"

namespace ompl::bootstrap {

struct PmixSession {
  std::string name_space;  // the job, in the launcher's words
  uint32_t rank = 0;
  std::string library;                                        // OMPL_PMIX_LIBRARY; empty: choose
  std::chrono::milliseconds limit = std::chrono::minutes(5);  // for each answer of the launcher
};

// Whether the environment speaks of PMIx at all.
bool pmix_offered();

// Reads PMIX_NAMESPACE and PMIX_RANK and looks for a PMIX_SERVER_URI*; OMPL_ERR_LAUNCH names the variable
// that is missing or unusable. `library` and `limit` stay as they are.
int pmix_environment(PmixSession* out);

// OMPL_ERR_LAUNCH too if no libpmix can be loaded, or this build was made without its headers.
int open_pmix(const PmixSession& session, std::unique_ptr<Bootstrap>* out);

}  // namespace ompl::bootstrap
