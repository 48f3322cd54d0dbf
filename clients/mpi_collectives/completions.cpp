// SPDX-License-Identifier: BSD-3-Clause
// MPI's functions that complete requests: while collectives of the layer are under way they look again and again, and drive
// those between.
#include <sched.h>

#include "requests.hpp"
#include "teams.hpp"

namespace ompl::mpi_collectives {
namespace {

constexpr int kPollsOfCore = 1000;  // until another thread of the core gets its turn

// `test(&flag)` until it says so.
template <class Test>
int until(Test test) {
  for (int polls = 1;; ++polls) {
    progress();
    int flag = 0;
    const int code = test(&flag);
    if (code != MPI_SUCCESS || flag != 0) return code;
    if (polls % kPollsOfCore == 0) sched_yield();
  }
}

}  // namespace
}  // namespace ompl::mpi_collectives

using namespace ompl::
    mpi_collectives;  // NOLINT(google-build-using-namespace): the functions below are MPI's

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (!progress() || (!several_threads() && wait_for(*request))) return PMPI_Wait(request, status);
  return until([=](int* flag) { return PMPI_Test(request, flag, status); });
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  if (!progress()) return PMPI_Waitall(count, requests, statuses);
  return until([=](int* flag) { return PMPI_Testall(count, requests, flag, statuses); });
}

int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  if (!progress()) return PMPI_Waitany(count, requests, index, status);
  return until([=](int* flag) { return PMPI_Testany(count, requests, index, flag, status); });
}

int MPI_Waitsome(int count, MPI_Request requests[], int* found, int indices[], MPI_Status statuses[]) {
  if (!progress()) return PMPI_Waitsome(count, requests, found, indices, statuses);
  return until([=](int* flag) {
    const int code = PMPI_Testsome(count, requests, found, indices, statuses);
    *flag = *found != 0 ? 1 : 0;  // some, or MPI_UNDEFINED: none is active
    return code;
  });
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  progress();
  return PMPI_Test(request, flag, status);
}

int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  progress();
  return PMPI_Testall(count, requests, flag, statuses);
}

int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  progress();
  return PMPI_Testany(count, requests, index, flag, status);
}

int MPI_Testsome(int count, MPI_Request requests[], int* found, int indices[], MPI_Status statuses[]) {
  progress();
  return PMPI_Testsome(count, requests, found, indices, statuses);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  progress();
  return PMPI_Request_get_status(request, flag, status);
}

}  // extern "C"
