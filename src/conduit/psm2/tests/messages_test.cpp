// SPDX-License-Identifier: BSD-3-Clause
// Messages that are each verified, by 1, 2, 4 and 8 threads a rank on 1, 3 and 8 endpoints. A million of them in the long set.
#include <algorithm>
#include <tuple>

#include "conformance/verified_messages.hpp"
#include "over_psm2.hpp"

namespace ompl::conformance {
namespace {

constexpr uint32_t kRanks = 2;
constexpr uint32_t kRun = 10'000;  // messages of one run, which has a time limit

class Psm2Messages : public ::testing::TestWithParam<std::tuple<unsigned, unsigned>> {
 protected:
  void SetUp() override {
    log::set_level(log::Level::off);
    if (const std::string why = no_psm2(); !why.empty()) GTEST_SKIP() << why;
  }
  static void all_arrive(uint32_t total) {
    const auto [threads, endpoints] = GetParam();
    for (uint32_t done = 0; done < total; done += kRun) {
      const uint32_t each = std::max(std::min(kRun, total - done) / kRanks / threads, 1U);
      ThreadWorld world(over_psm2(), {.ranks = kRanks, .endpoints = endpoints});
      ASSERT_EQ(exchange(world, threads, each), uint64_t{each} * kRanks * threads);
    }
  }
};

TEST_P(Psm2Messages, AllArriveWhole) { all_arrive(rounds(1600)); }
TEST_P(Psm2Messages, AMillion) { all_arrive(1'000'000 / 12); }

INSTANTIATE_TEST_SUITE_P(threads, Psm2Messages,
                         ::testing::Combine(::testing::Values(1U, 2U, 4U, 8U),
                                            ::testing::Values(1U, 3U, 8U)),
                         [](const auto& each) {
                           return std::to_string(std::get<0>(each.param)) + "on" +
                                  std::to_string(std::get<1>(each.param));
                         });

}  // namespace
}  // namespace ompl::conformance
