// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/conduit.hpp"
#include "conduit/self/conduit.hpp"
#include "conformance.hpp"

namespace ompl::conformance {
namespace {

// Ranks that are not mapped, each an endpoint of its own, over TCP on this host.
INSTANTIATE_TEST_SUITE_P(ofi, Conformance,
                         ::testing::Values(Case{"ofi",
                                                every_rank(conduit::self::make, conduit::ofi::make)}),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
