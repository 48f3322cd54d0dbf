// SPDX-License-Identifier: BSD-3-Clause
// The functions of MPI that exchanges call besides those of arch/mpi_library.hpp.
#pragma once

#include "arch/mpi_library.hpp"

namespace ompl::halo {

template <class Handle>
struct Functions : arch::MpiLibrary<Handle> {
  using Receive = int(void*, int, Handle, int, int, Handle, Handle*);
  using Send = int(const void*, int, Handle, int, int, Handle, Handle*);
  using Graph = int(Handle, int, const int*, const int*, int, const int*, const int*, Handle, int,
                    Handle*);
  using Alltoallw = int(const void*, const int*, const std::ptrdiff_t*, const Handle*, void*,
                        const int*, const std::ptrdiff_t*, const Handle*, Handle, Handle*);
  using Put = int(const void*, int, Handle, int, std::ptrdiff_t, int, Handle, Handle);

  Receive* irecv = arch::mpi_function<Receive>("MPI_Irecv");
  Receive* recv_init = arch::mpi_function<Receive>("MPI_Recv_init");
  Send* send_init = arch::mpi_function<Send>("MPI_Send_init");
  int (*start)(Handle*) = arch::mpi_function<int(Handle*)>("MPI_Start");
  int (*request_free)(Handle*) = arch::mpi_function<int(Handle*)>("MPI_Request_free");

  Graph* dist_graph_create_adjacent = arch::mpi_function<Graph>("MPI_Dist_graph_create_adjacent");
  Alltoallw* ineighbor_alltoallw = arch::mpi_function<Alltoallw>("MPI_Ineighbor_alltoallw");

  int (*comm_group)(Handle, Handle*) = arch::mpi_function<int(Handle, Handle*)>("MPI_Comm_group");
  int (*group_incl)(Handle, int, const int*, Handle*) =
      arch::mpi_function<int(Handle, int, const int*, Handle*)>("MPI_Group_incl");
  int (*group_free)(Handle*) = arch::mpi_function<int(Handle*)>("MPI_Group_free");
  int (*win_allocate)(std::ptrdiff_t, int, Handle, Handle, void*, Handle*) =
      arch::mpi_function<int(std::ptrdiff_t, int, Handle, Handle, void*, Handle*)>("MPI_Win_allocate");
  int (*win_post)(Handle, int, Handle) = arch::mpi_function<int(Handle, int, Handle)>("MPI_Win_post");
  int (*win_start)(Handle, int, Handle) = arch::mpi_function<int(Handle, int, Handle)>("MPI_Win_start");
  int (*win_complete)(Handle) = arch::mpi_function<int(Handle)>("MPI_Win_complete");
  int (*win_test)(Handle, int*) = arch::mpi_function<int(Handle, int*)>("MPI_Win_test");
  Put* put = arch::mpi_function<Put>("MPI_Put");
};

}  // namespace ompl::halo
