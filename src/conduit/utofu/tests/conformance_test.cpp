// SPDX-License-Identifier: BSD-3-Clause
// Over the emulator of uTofu, whose interconnect delivers late and in whatever order uTofu allows.
#include "over_utofu.hpp"

namespace ompl::conformance {
namespace {

// As many virtual control queues a rank as it may have threads, where a test does not say how many.
Case with_endpoints(unsigned endpoints) {
  return {"endpoints" + std::to_string(endpoints), [endpoints](uint32_t /*ranks*/) {
            return over_utofu([endpoints](uint32_t /*rank*/, Settings* settings) {
              if (settings->endpoints == 0) settings->endpoints = endpoints;
            });
          }};
}

INSTANTIATE_TEST_SUITE_P(utofu, Conformance, ::testing::Values(with_endpoints(2)), name_of);
INSTANTIATE_TEST_SUITE_P(more, Conformance,
                         ::testing::Values(with_endpoints(1), with_endpoints(4), with_endpoints(8)),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
