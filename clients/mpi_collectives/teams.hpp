// SPDX-License-Identifier: BSD-3-Clause
// Which team of the layer stands for a communicator.
#pragma once

#include "mpi.hpp"

namespace ompl::mpi_collectives {

// MPI_Init has come, all ranks of MPI_COMM_WORLD are interposed alike, and the layer has begun. Collective.
void begin();

// Before MPI_Finalize. Collective.
void end();

// A communicator that was made just now, by all of its members; MPI_COMM_NULL is allowed. Those between groups, and those with
// processes outside MPI_COMM_WORLD, stay MPI's.
void add(MPI_Comm comm);

// Before a communicator is freed. Collective.
void remove(MPI_Comm comm);

// NULL if the communicator's collectives are MPI's. The same at all members.
ompl_team* team_of(MPI_Comm comm);

// Whether MPI has MPI_THREAD_MULTIPLE.
bool several_threads();

// Reports an error of the layer by the communicator's error handler.
int fail(MPI_Comm comm, const char* function, int code);

}  // namespace ompl::mpi_collectives
