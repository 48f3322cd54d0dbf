// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/conformance.hpp"
#include "conduit/registry.hpp"

namespace ompl::conformance {
namespace {

// Ranks that are not mapped, over sockets of this host.
INSTANTIATE_TEST_SUITE_P(tcp, Conformance,
                         ::testing::Values(Case{"tcp",
                                                every_rank(conduit::self::make, conduit::tcp::make)}),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
