// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/scarce_connection.hpp"
#include "over_verbs.hpp"

namespace ompl::conformance {
namespace {

Case over(const char* transport) {
  return {transport, [transport](uint32_t /*ranks*/) { return over_verbs(transport); }};
}

INSTANTIATE_TEST_SUITE_P(verbs, ScarceConnection,
                         ::testing::Values(over("rc"), over("xrc"), over("dc")), name_of);

}  // namespace
}  // namespace ompl::conformance
