// SPDX-License-Identifier: BSD-3-Clause
// Over the emulator of uTofu, whose interconnect delivers late and in whatever order uTofu allows.
#include "conduit/self/conduit.hpp"
#include "conduit/utofu/conduit.hpp"
#include "conformance.hpp"

namespace ompl::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(utofu, Conformance,
                         ::testing::Values(Case{"utofu",
                                                every_rank(conduit::self::make, conduit::utofu::make)}),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
