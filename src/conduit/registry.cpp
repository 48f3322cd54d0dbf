// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"

#include <array>

#ifdef OMPL_HAVE_OFI
#include "conduit/ofi/conduit.hpp"
#endif

namespace ompl::conduit {
namespace {

constexpr auto kRegistry = std::to_array<Entry>({
    {"self", "a rank's own segment", true, &self::make},
    {"shm", "ranks of one node, mapped memfd segments", true, &shm::make},
#ifdef OMPL_HAVE_VERBS
    {"verbs", "InfiniBand Verbs, over InfiniBand and RoCE", false, &verbs::make},
#endif
#ifdef OMPL_HAVE_UTOFU
    {"utofu", "uTofu, over Fugaku's Tofu interconnect D", false, &utofu::make},
#endif
#ifdef OMPL_HAVE_PSM2
    {"psm2", "PSM2, over Omni-Path", false, &psm2::make},
#endif
    {"tcp", "sockets, between hosts without RDMA", true, &tcp::make},
#ifdef OMPL_HAVE_OFI
    {"ofi", "libfabric: TCP, other fabrics never run on their hardware", true, &ofi::make},
#endif
#ifdef OMPL_HAVE_UCX
    {"ucx", "UCX, over TCP", true, &ucx::make},
#endif
    {"mpi", "one-sided MPI of the program itself", true, &mpi::make},
});

}  // namespace

std::span<const Entry> registry() { return kRegistry; }

}  // namespace ompl::conduit
