// SPDX-License-Identifier: BSD-3-Clause
// The MPI that this interposer is compiled for. Nothing of it is linked: a preloaded library meets programs that have
// no MPI, too.
#pragma once

// Open MPI's constants are addresses of its data.
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_group_null
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_uint64_t
#pragma weak ompi_mpi_op_max
#pragma weak ompi_mpi_datatype_null
#pragma weak ompi_request_null
#pragma weak ompi_message_no_proc
#pragma weak ompi_mpi_win_null

#include <mpi.h>

#include <cstdint>
#include <type_traits>

#include "writer/behind.hpp"

namespace ompl::trace {

// Handles are numbers in one MPI and pointers in another.
template <typename Handle>
uint64_t key_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<uintptr_t>(handle);
  } else {
    return static_cast<uint32_t>(handle);
  }
}

}  // namespace ompl::trace
