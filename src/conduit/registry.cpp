// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"

#include <array>

#include "conduit/self/conduit.hpp"
#include "conduit/shm/conduit.hpp"
#ifdef OMPL_HAVE_OFI
#include "conduit/ofi/conduit.hpp"
#endif

namespace ompl::conduit {
namespace {

constexpr auto kRegistry = std::to_array<Entry>({
    {"self", "a rank's own segment", true, &self::make},
    {"shm", "ranks of one node, mapped memfd segments", true, &shm::make},
#ifdef OMPL_HAVE_OFI
    {"ofi", "libfabric, over TCP", true, &ofi::make},
#endif
});

}  // namespace

std::span<const Entry> registry() { return kRegistry; }

}  // namespace ompl::conduit
