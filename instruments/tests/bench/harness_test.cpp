// SPDX-License-Identifier: BSD-3-Clause
// The harness's parts that can be wrong without a library: what it counts, when it stops, and whether
// it would see a wrong payload.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <set>
#include <vector>

#include "harness/histogram.hpp"
#include "harness/payload.hpp"
#include "harness/schedule.hpp"
#include "harness/team.hpp"

namespace bench {
namespace {

TEST(Histogram, BucketsAreNarrowAndOrdered) {
  EXPECT_EQ(Histogram::bucket(0), 0U);
  EXPECT_EQ(Histogram::bucket(127), 127U);
  unsigned last = 127;
  for (uint64_t ns = 128; ns < (uint64_t{1} << 40); ns += ns / 256 + 1) {
    const unsigned bucket = Histogram::bucket(ns);
    ASSERT_GE(bucket, last) << ns;
    ASSERT_LE(bucket, last + 1) << ns << " skips a bucket";
    last = bucket;
  }
}

TEST(Histogram, MergingAddsCounts) {
  Histogram a;
  Histogram b;
  a.add(1000);
  b.add(1000);
  b.add(5);
  a.merge(b);
  EXPECT_EQ(a.counts(), (std::map<unsigned, uint64_t>{{5, 1}, {Histogram::bucket(1000), 2}}));
}

class Payload : public testing::TestWithParam<std::size_t> {};

TEST_P(Payload, HoldsWhatWasFilledIn) {
  std::vector<std::byte> buffer(GetParam());
  payload::fill(buffer.data(), buffer.size(), payload::seed(3, 1, 7), 1234);
  EXPECT_EQ(payload::mismatch(buffer.data(), buffer.size(), payload::seed(3, 1, 7)), std::nullopt);
  EXPECT_EQ(payload::plan(buffer.data()), 1234U);
}

TEST_P(Payload, DataOfAnotherExchangeDoNotPass) {
  std::vector<std::byte> buffer(GetParam());
  payload::fill(buffer.data(), buffer.size(), payload::seed(3, 1, 7), 0);
  for (const uint64_t other :
       {payload::seed(2, 1, 7), payload::seed(3, 0, 7), payload::seed(3, 1, 8)}) {
    EXPECT_NE(payload::mismatch(buffer.data(), buffer.size(), other), std::nullopt);
  }
}

TEST_P(Payload, EveryWrongByteIsSeen) {
  std::vector<std::byte> buffer(GetParam());
  const uint64_t seed = payload::seed(0, 0, 1);
  payload::fill(buffer.data(), buffer.size(), seed, 0);
  for (std::size_t i = 2; i < buffer.size(); ++i) {  // the plan is in the first two bytes
    buffer[i] ^= std::byte{0x10};
    ASSERT_NE(payload::mismatch(buffer.data(), buffer.size(), seed), std::nullopt) << "byte " << i;
    buffer[i] ^= std::byte{0x10};
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Payload, testing::Values(4, 8, 12, 13, 4096));

TEST(Schedule, WarmsUpThenCountsToTheIterationLimit) {
  Schedule schedule(1000, 10.0);
  uint64_t warm = 0;
  uint64_t counted = 0;
  for (auto batch = schedule.next(0); batch.iterations != 0; batch = schedule.next(0)) {
    ASSERT_LE(batch.iterations, Schedule::kMaxBatch);
    ASSERT_TRUE(batch.counts || counted == 0) << "warm-up after counting has begun";
    (batch.counts ? counted : warm) += batch.iterations;
    schedule.finished(1e-6 * batch.iterations);
  }
  EXPECT_GE(warm, Schedule::kWarmUp);
  EXPECT_EQ(counted, 1000U);
}

TEST(Schedule, StopsAtTheTimeLimitButCountsOnce) {
  Schedule schedule(1000, 0.02);
  EXPECT_FALSE(schedule.next(0).counts);
  schedule.finished(5.0);  // one iteration took five seconds
  const auto batch = schedule.next(5.0);
  EXPECT_TRUE(batch.counts);
  EXPECT_EQ(batch.iterations, 1U);
  schedule.finished(5.0);
  EXPECT_EQ(schedule.next(10.0).iterations, 0U);
}

TEST(Team, RunsEveryThreadOnceEachTime) {
  Team team(4, 0);
  for (int threads : {4, 1, 3}) {
    std::vector<std::atomic<int>> runs(4);
    team.run(threads, [&](int i) { ++runs[static_cast<std::size_t>(i)]; });
    for (int i = 0; i < 4; ++i) EXPECT_EQ(runs[static_cast<std::size_t>(i)], i < threads ? 1 : 0);
  }
}

}  // namespace
}  // namespace bench
