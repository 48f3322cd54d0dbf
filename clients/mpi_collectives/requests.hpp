// SPDX-License-Identifier: BSD-3-Clause
// Collectives that are under way. A nonblocking one is a generalized request of MPI, which the program completes by any of MPI's
// functions. MPI promises that it goes on while the program is in any call of MPI, and that messages go on while it is in a
// collective, so each drives the other: who waits here asks MPI for messages, and a thread of this library looks after
// collectives whose program is elsewhere.
#pragma once

#include "statistics.hpp"
#include "types.hpp"

namespace ompl::mpi_collectives {

struct Call {
  MPI_Comm comm;
  Function function;
  MPI_Request* request;  // of a nonblocking call, else NULL
};

// Waits for a collective that has begun, or makes the call's request; what MPI's function returns.
int complete(const Call& call, ompl_request* request, Staging staging);

// Drives what is under way, and completes the requests of what is over. Whether anything was under way.
bool progress();

// Until the collective of a request is over, which MPI then finds complete. False: it is none that is under way. One thread
// at a time calls MPI.
bool wait_for(MPI_Request request);

// Until all collectives of a communicator are over; without one, all.
void finish_requests(MPI_Comm comm = MPI_COMM_NULL);

}  // namespace ompl::mpi_collectives
