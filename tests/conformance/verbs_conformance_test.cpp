// SPDX-License-Identifier: BSD-3-Clause
// Over the device that libibverbs finds: a stand-in of ours (tests/verbs/stub.cpp) or, in a virtual machine, Soft-RoCE.
#include "conduit/self/conduit.hpp"
#include "conduit/verbs/conduit.hpp"
#include "conformance.hpp"

namespace ompl::conformance {
namespace {

// Ranks that are not mapped, each an endpoint of its own.
INSTANTIATE_TEST_SUITE_P(verbs, Conformance,
                         ::testing::Values(Case{"verbs",
                                                every_rank(conduit::self::make, conduit::verbs::make)}),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
