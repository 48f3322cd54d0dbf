// SPDX-License-Identifier: BSD-3-Clause
// A client of PMI-1, the protocol that omplrun, Hydra (MPICH, Intel MPI) and Slurm speak over a socket
// which the rank inherits. Own code: the protocol is a few lines of text, and no two libpmi agree.
//
// Sharing the socket with MPI. A program may call MPI_Init while this session is open, or after it.
// Hydra and omplrun allow a second `init` on one socket but end it at the first `finalize`, and MPICH
// closes the socket in MPI_Finalize. Hence finish() leaves the one `finalize` to MPI once MPI runs, and
// puts it off to the exit of the process while MPI may still come.
#pragma once

#include <chrono>
#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace ompl::bootstrap {

struct Pmi1Session {
  int fd = -1;  // belongs to the launcher's environment: never closed here
  uint32_t rank = 0;
  uint32_t size = 1;
  std::chrono::milliseconds limit = std::chrono::minutes(5);  // for each answer of the launcher
};

// Whether the environment speaks of PMI-1 at all.
bool pmi1_offered();

// Reads PMI_FD, PMI_RANK and PMI_SIZE; OMPL_ERR_LAUNCH names the variable that is missing or unusable.
int pmi1_environment(Pmi1Session* out);

int open_pmi1(const Pmi1Session& session, std::unique_ptr<Bootstrap>* out);

}  // namespace ompl::bootstrap
