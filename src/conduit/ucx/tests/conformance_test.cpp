// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/conformance.hpp"
#include "conduit/registry.hpp"

namespace ompl::conformance {
namespace {

// Ranks that are not mapped, over the transports of UCX_TLS.
INSTANTIATE_TEST_SUITE_P(ucx, Conformance,
                         ::testing::Values(Case{"ucx",
                                                every_rank(conduit::self::make, conduit::ucx::make)}),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
