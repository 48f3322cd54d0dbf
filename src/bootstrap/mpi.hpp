// SPDX-License-Identifier: BSD-3-Clause
// An MPI library in the same process, found through the dynamic linker: no header of it, nothing
// linked.
#pragma once

#include <memory>

#include "bootstrap/bootstrap.hpp"

namespace ompl::bootstrap {

enum class MpiPhase { absent, before_init, running, finalized };

// Where this process's MPI stands.
MpiPhase mpi_phase();

// Whether this process's MPI, if any, would talk to its launcher over PMI_FD (Open MPI never does).
bool mpi_may_use_pmi1();

// Whether this process's MPI is Open MPI 5 and has not been initialised.
bool is_open_mpi5_before_init();

// Starts up through the running MPI. Collective over MPI_COMM_WORLD, of which it keeps a duplicate
// until finish(). Waiting is MPI's: a dead rank is its launcher's business.
int open_mpi(std::unique_ptr<Bootstrap>* out);

}  // namespace ompl::bootstrap
