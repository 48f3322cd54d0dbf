// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/conformance.hpp"
#include "conduit/registry.hpp"

namespace ompl::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(self, Conformance,
                         ::testing::Values(Case{"self", every_rank(conduit::self::make), 1}), name_of);

}  // namespace
}  // namespace ompl::conformance
