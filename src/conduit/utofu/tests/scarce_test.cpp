// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/scarce_connection.hpp"
#include "over_utofu.hpp"

namespace ompl::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(utofu, ScarceConnection,
                         ::testing::Values(Case{"utofu",
                                                [](uint32_t /*ranks*/) { return over_utofu(); }}),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
