// SPDX-License-Identifier: BSD-3-Clause
// Exchanges by the MPI that the process has initialised, between the same ranks. It is found through the dynamic linker,
// as the conduit `mpi` does; what it needs of the thread level is said in omnipgas/halo.h.
#pragma once

#include <memory>
#include <string>

#include "halo/carrier.hpp"
#include "halo/pattern.hpp"

namespace ompl::halo {

// Why this process can carry nothing so; empty if it can. Makes no call that others would have to make.
std::string why_no_mpi(const Runtime& runtime, const Pattern& pattern);

// `strategy`: OMPL_HALO_MPI ... OMPL_HALO_MPI_PUT. `region`: this rank's memory of the pattern's layout, of so many bytes.
// Collective, and only where why_no_mpi() is empty on all ranks.
int make_mpi(int32_t strategy, const Pattern& pattern, std::byte* region, std::size_t bytes,
             std::unique_ptr<Carrier>* out);

}  // namespace ompl::halo
