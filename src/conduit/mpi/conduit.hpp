// SPDX-License-Identifier: BSD-3-Clause
// The network conduit over the MPI of the program itself. See README.md.
#pragma once

#include <memory>

#include "conduit/conduit.hpp"

namespace ompl::conduit::mpi {

std::unique_ptr<Conduit> make();

}  // namespace ompl::conduit::mpi
