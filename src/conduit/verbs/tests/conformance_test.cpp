// SPDX-License-Identifier: BSD-3-Clause
// Over the device that libibverbs finds: a stand-in of ours (src/conduit/verbs/tests/stub/stub.cpp) or, in a virtual machine, Soft-RoCE,
// which has RC alone.
#include "over_verbs.hpp"

namespace ompl::conformance {
namespace {

// Ranks that are not mapped, each an endpoint of its own.
Case over(const char* transport) {
  return {transport, [transport](uint32_t /*ranks*/) { return over_verbs(transport); }};
}

INSTANTIATE_TEST_SUITE_P(verbs, Conformance, ::testing::Values(over("rc")), name_of);
INSTANTIATE_TEST_SUITE_P(more, Conformance, ::testing::Values(over("xrc"), over("dc")), name_of);

}  // namespace
}  // namespace ompl::conformance
