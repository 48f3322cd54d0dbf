// SPDX-License-Identifier: BSD-3-Clause
// Messages under scrambled order, each verified to the last word, by 1, 2, 4 and 8 threads a rank: a put of 8 to 1,024
// bytes, then a signal. A million of them in the long set.
#include <algorithm>

#include "conduit/utofu/tests/emulator/emulator.h"
#include "conformance/verified_messages.hpp"
#include "over_utofu.hpp"

namespace ompl::conformance {
namespace {

constexpr uint32_t kRanks = 2;
constexpr uint32_t kRun = 10'000;  // messages of one run, which has a time limit

class UtofuMessages : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { log::set_level(log::Level::off); }
  static void all_arrive(uint32_t total) {
    utofu_emulator_counts before{};
    utofu_emulator_count(&before);
    uint64_t whole = 0;
    for (uint32_t done = 0; done < total; done += kRun) {
      const uint32_t each = std::min(kRun, total - done) / kRanks / GetParam();
      const auto world = utofu_world({.ranks = kRanks, .endpoints = GetParam()});
      const uint64_t arrived = exchange(*world, GetParam(), each);
      EXPECT_EQ(arrived, uint64_t{each} * kRanks * GetParam());
      whole += arrived;
    }
    RecordProperty("whole", std::to_string(whole));  // omni figures reads it
    utofu_emulator_counts after{};
    utofu_emulator_count(&after);
    EXPECT_GT(after.overtaken, before.overtaken) << "the order was not scrambled";
    EXPECT_GT(after.busy, before.busy) << "no post was refused";
  }
};

TEST_P(UtofuMessages, AllArriveWhole) { all_arrive(rounds(1600)); }
TEST_P(UtofuMessages, AMillion) { all_arrive(1'000'000 / 4); }

INSTANTIATE_TEST_SUITE_P(threads, UtofuMessages, ::testing::Values(1U, 2U, 4U, 8U),
                         [](const auto& each) { return std::to_string(each.param); });

}  // namespace
}  // namespace ompl::conformance
