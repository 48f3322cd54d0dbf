// SPDX-License-Identifier: BSD-3-Clause
// Over PSM2's shared memory.
#include "over_psm2.hpp"

namespace ompl::conformance {
namespace {

Case with_endpoints(unsigned endpoints) {
  return {.name = "endpoints" + std::to_string(endpoints),
          .fabric = [endpoints](uint32_t /*ranks*/) { return over_psm2(endpoints); },
          .why_not = no_psm2};
}

INSTANTIATE_TEST_SUITE_P(psm2, Conformance, ::testing::Values(with_endpoints(2)), name_of);
INSTANTIATE_TEST_SUITE_P(more, Conformance, ::testing::Values(with_endpoints(1), with_endpoints(4)),
                         name_of);

}  // namespace
}  // namespace ompl::conformance
