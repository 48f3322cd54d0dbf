// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"
#include "conformance/scarce_connection.hpp"

namespace ompl::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(ucx, ScarceConnection,
                         ::testing::Values(Case{"ucx",
                                                every_rank(conduit::self::make, conduit::ucx::make)}),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
