// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"
#include "conformance/scarce_connection.hpp"

namespace ompl::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(tcp, ScarceConnection,
                         ::testing::Values(Case{"tcp",
                                                every_rank(conduit::self::make, conduit::tcp::make)}),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
