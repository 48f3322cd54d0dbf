// SPDX-License-Identifier: BSD-3-Clause
// Staging over the mock where it refuses, delays and cuts what is posted.
#include "staging.hpp"

#include <gtest/gtest.h>

#include "conduit/mock/tests/fabric.hpp"

namespace ompl::conformance {
namespace {

using conduit::mock::Hostility;

void over(const Hostility& hostility) {
  expect_staging(std::make_unique<MockFabric>(2, hostility, std::vector<unsigned>{}));
}

TEST(Staging, WhereQueuesAreTiny) { over({.send_depth = 2, .inline_limit = 8, .spurious_retry = 3}); }
TEST(Staging, WhereMessagesAreSmall) { over({.max_message = 1000, .send_depth = 4}); }
TEST(Staging, WherePutsOfLocalCompletionAreLate) {
  over({.remote_completion = false, .delivery_delay = 12});
}
TEST(Staging, WhereSignalsOvertakeData) { over({.ordered_signals = false, .delivery_delay = 12}); }
TEST(Staging, WherePutsAreHeldForTheirSignal) {
  over({.stalls_sender = true, .max_fused_put = 64, .immediate_puts = true});
}

}  // namespace
}  // namespace ompl::conformance
