// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/conformance.hpp"
#include "conduit/registry.hpp"

namespace ompl::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(shm, Conformance,
                         ::testing::Values(Case{"shm", every_rank(conduit::shm::make)},
                                           Case{"self_and_shm",
                                                every_rank(conduit::self::make, conduit::shm::make)}),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
