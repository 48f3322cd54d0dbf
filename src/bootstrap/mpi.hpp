// SPDX-License-Identifier: BSD-3-Clause
// Starting up through an MPI of the same process, and beside one.
#pragma once

#include <memory>

#include "arch/libraries/mpi.hpp"
#include "bootstrap/bootstrap.hpp"

namespace ompl::bootstrap {

using arch::mpi_phase;
using arch::MpiPhase;

// Whether this process's MPI, if any, would talk to its launcher over PMI_FD (Open MPI never does).
bool mpi_may_use_pmi1();

// Whether this process's MPI is Open MPI 5 and has not been initialised.
bool is_open_mpi5_before_init();

// Starts up through the running MPI, by collective calls on duplicates of MPI_COMM_WORLD that do not outlive
// their fence. finish() does not touch MPI, which may have ended by then. Waiting is MPI's: a dead rank is its
// launcher's business.
int open_mpi(std::unique_ptr<Bootstrap>* out);

}  // namespace ompl::bootstrap
