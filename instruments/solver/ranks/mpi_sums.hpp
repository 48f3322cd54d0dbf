// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "solver/cg/exchange.hpp"

namespace ompl::solver {

// Sums over all ranks by MPI_Iallreduce() on MPI_COMM_WORLD, of the MPI that this process has initialised; to be moved on
// by the thread that did. All ranks get the same bits, as MPI demands. Throws std::runtime_error if MPI says of an error,
// or has no such function.
[[nodiscard]] std::unique_ptr<OverlappedReduction> make_mpi_sums();

}  // namespace ompl::solver
