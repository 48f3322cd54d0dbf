// SPDX-License-Identifier: BSD-3-Clause
// The ids of communicators and windows, and their definitions.
#pragma once

#include "format.hpp"
#include "mpi.hpp"
#include "writer/handles.hpp"

namespace ompl::trace {

struct CommInfo {
  uint64_t global;
  uint32_t id;
  int32_t rank;          // of this process
  int32_t size;          // of the group that messages go to
  int32_t sources;       // neighbours, of a topology
  int32_t destinations;  //
};

// Of any communicator; one made in a way that is not recorded is defined now. Never null.
const CommInfo& comm_info(MPI_Comm comm);

// Defines a communicator, which was made from `parent`; `tag` as in MPI_Comm_create_group.
uint32_t define_comm(MPI_Comm comm, const CommInfo* parent, Kind made_by, int tag = 0);
// The same while only its parent may be asked, whose members it has.
uint32_t define_comm_like(MPI_Comm parent, MPI_Comm comm, Kind made_by);
void forget_comm(MPI_Comm comm);

uint32_t define_window(MPI_Win window, uint32_t comm, uint64_t bytes, Kind made_by);
uint32_t window_id(MPI_Win window);
void forget_window(MPI_Win window);

// After MPI_Init: MPI_COMM_WORLD is 1, MPI_COMM_SELF 2. False if there is no memory.
bool define_first_comms();

// The sizes of types of MPI's own, which no program frees, so that MPI need not be asked at every call.
extern HandleTable<uint32_t, 256> own_types;

}  // namespace ompl::trace
