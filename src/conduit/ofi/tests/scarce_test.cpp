// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/conduit.hpp"
#include "conduit/registry.hpp"
#include "conformance/scarce_connection.hpp"

namespace ompl::conformance {
namespace {

Case over(const std::string& name, const std::string& provider) {
  return {name, [=](uint32_t /*ranks*/) {
            return fabric_of(
                [=](uint32_t /*rank*/, Settings* settings) { settings->ofi_provider = provider; },
                conduit::self::make, [] { return conduit::ofi::make_demanding({}); });
          }};
}

INSTANTIATE_TEST_SUITE_P(ofi, ScarceConnection,
                         ::testing::Values(over("connections", "tcp"),
                                           over("addressed", "tcp;ofi_rxm")),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
