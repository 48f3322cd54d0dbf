// SPDX-License-Identifier: BSD-3-Clause
#include "halo/mpi/mpi.hpp"

#include <algorithm>
#include <climits>

#include "halo/mpi/neighbor.hpp"
#include "halo/mpi/put.hpp"
#include "halo/mpi/two_sided.hpp"
#include "omnipgas/halo.h"

namespace ompl::halo {
namespace {

template <class Handle>
std::string why_not(const Runtime& runtime, const Pattern& pattern) {
  const Functions<Handle> mpi;
  if (!mpi.complete()) return "the MPI library of this process is older than MPI 3.0";
  const bool fits = std::ranges::all_of(pattern.neighbors, [&](const Neighbor& n) {
    return std::max(pattern.to_send(n), pattern.to_receive(n)) <= INT_MAX;
  });
  if (!fits) return "MPI counts in int: what goes to a neighbour must be less than 2 GiB";
  int rank = -1;
  int size = -1;
  mpi.comm_rank(mpi.constants.world, &rank);
  mpi.comm_size(mpi.constants.world, &size);
  if (static_cast<uint32_t>(rank) == runtime.rank() && static_cast<uint32_t>(size) == runtime.size())
    return {};
  return fmt::format(
      "rank {} of {} of this job is rank {} of {} of MPI_COMM_WORLD: they must be the same",
      runtime.rank(), runtime.size(), rank, size);
}

template <class Handle>
std::unique_ptr<MpiCarrier<Handle>> make(int32_t strategy, const Pattern& pattern, std::byte* region,
                                         std::size_t bytes) {
  switch (strategy) {
    case OMPL_HALO_MPI:
      return std::make_unique<TwoSided<Handle>>(pattern, region, false);
    case OMPL_HALO_MPI_PERSISTENT:
      return std::make_unique<TwoSided<Handle>>(pattern, region, true);
    case OMPL_HALO_MPI_NEIGHBOR:
      return std::make_unique<NeighborCollective<Handle>>(pattern, region);
    default:
      return std::make_unique<WindowPut<Handle>>(pattern, region, bytes);
  }
}

template <class Handle>
int open(std::unique_ptr<MpiCarrier<Handle>> made, std::unique_ptr<Carrier>* out) {
  const int code = made->open();
  *out = std::move(made);
  return code;
}

}  // namespace

std::string why_no_mpi(const Runtime& runtime, const Pattern& pattern) {
  switch (arch::mpi_phase()) {
    case arch::MpiPhase::absent:
      return "this process has no MPI library; link the program with one and call MPI_Init_thread";
    case arch::MpiPhase::before_init:
      return "MPI is not initialised in this process; call MPI_Init_thread first";
    case arch::MpiPhase::finalized:
      return "MPI was finalized in this process";
    case arch::MpiPhase::running:
      break;
  }
  return arch::mpi_abi() == arch::MpiAbi::mpich ? why_not<int>(runtime, pattern)
                                                : why_not<void*>(runtime, pattern);
}

int make_mpi(int32_t strategy, const Pattern& pattern, std::byte* region, std::size_t bytes,
             std::unique_ptr<Carrier>* out) {
  if (arch::mpi_abi() == arch::MpiAbi::mpich)
    return open(make<int>(strategy, pattern, region, bytes), out);
  return open(make<void*>(strategy, pattern, region, bytes), out);
}

}  // namespace ompl::halo
