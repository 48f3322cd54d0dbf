// SPDX-License-Identifier: BSD-3-Clause
// The tuner of collectives against recorded timings: tables that are made here, with noise, disturbances and drift, of what each
// candidate would have taken at each call.
#include "coll/tuner/tuner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "coll/schedule/operation.hpp"
#include "coll/tuner/candidates.hpp"
#include "coll/tuner/tuning.hpp"
#include "omnipgas/coll.h"
#include "tools/tuner-replay/replay.hpp"

namespace ompl::coll {
namespace {

using tuner_replay::best_fixed;
using tuner_replay::Recording;
using tuner_replay::replay;
using tuner_replay::sum;

constexpr std::size_t kCalls = 1000;
constexpr std::size_t kSteady = 400;  // the last calls
constexpr uint64_t kSeeds = 40;

struct Machine {
  std::string name;
  std::vector<double> microseconds;  // by candidate
  double noise = 0.1;                // standard deviation of the logarithm
  bool careful = false;
  // What a candidate's time is multiplied with at a call.
  std::function<double(std::size_t candidate, std::size_t call)> drift = [](auto, auto) { return 1.0; };
};

// One call in a hundred is disturbed, whatever it takes: it needs 10 us more.
Recording record(const Machine& machine, uint64_t seed, std::size_t calls = kCalls) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> noise(0, machine.noise);
  std::bernoulli_distribution disturbed(0.01);
  Recording recording(machine.microseconds.size());
  for (std::size_t call = 0; call < calls; ++call) {
    const double more = disturbed(random) ? 10e-6 : 0;
    for (std::size_t c = 0; c < recording.size(); ++c)
      recording[c].push_back(machine.microseconds[c] * 1e-6 * machine.drift(c, call) * noise(random) +
                             more);
  }
  return recording;
}

std::vector<Machine> machines() {
  return {
      {.name = "as expected", .microseconds = {1, 1.3, 2, 4}},
      {.name = "the other way round", .microseconds = {4, 2, 1.3, 1}},
      {.name = "nearly equal", .microseconds = {1.04, 1, 1.02, 1.5}},
      {.name = "noisy", .microseconds = {1.5, 1, 3}, .noise = 0.3},
      {.name = "the first is hopeless", .microseconds = {100, 1.2, 1}, .noise = 0.05},
      {.name = "one in the middle is hopeless", .microseconds = {1.5, 100, 1}, .noise = 0.05},
      {.name = "the last is hopeless", .microseconds = {1, 1.5, 100}, .noise = 0.05},
      {.name = "the best gets slower",
       .microseconds = {1, 1.3, 3},
       .drift = [](std::size_t c, std::size_t call) { return c == 0 && call >= 350 ? 2.0 : 1.0; }},
      {.name = "another gets better",
       .microseconds = {1, 1.5, 3},
       .drift = [](std::size_t c, std::size_t call) { return c == 1 && call >= 350 ? 0.4 : 1.0; }},
      {.name = "algorithms in modes of progress behind a computation",
       .microseconds = {150, 125, 180, 140, 155, 124, 190, 141, 170, 136, 200, 150},
       .noise = 0.05,
       .careful = true},
      {.name = "all get slower",
       .microseconds = {1.5, 1, 2},
       .drift = [](std::size_t, std::size_t call) { return 1 + 2e-3 * static_cast<double>(call); }},
  };
}

class Replayed : public testing::TestWithParam<std::size_t> {
 protected:
  const Machine machine_ = machines()[GetParam()];
};

TEST_P(Replayed, EndsNearTheBestFixedChoice) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Recording recording = record(machine_, seed);
    Tuner tuner(static_cast<uint32_t>(recording.size()), machine_.careful);
    const std::vector<double> taken = replay(recording, tuner);
    const double ratio = sum(taken, kCalls - kSteady) / best_fixed(recording, kCalls - kSteady);
    EXPECT_LE(ratio, 1.05) << machine_.name << ", seed " << seed;
  }
}

TEST_P(Replayed, CostsATenthOfTheRunAtMost) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Recording recording = record(machine_, seed);
    Tuner tuner(static_cast<uint32_t>(recording.size()), machine_.careful);
    const double taken = sum(replay(recording, tuner));
    EXPECT_LE((taken - best_fixed(recording)) / taken, Tuner::kMostRegret)
        << machine_.name << ", seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, Replayed, testing::Range<std::size_t>(0, machines().size()));

TEST(Tuner, LooksAtEveryCandidateOnceFirst) {
  Tuner tuner(3);
  EXPECT_EQ(tuner.plan(), (Plan{{0, 1}}));
  tuner.learn(std::vector{3e-6});
  EXPECT_EQ(tuner.plan(), (Plan{{1, 1}}));
  tuner.learn(std::vector{1e-6});
  EXPECT_EQ(tuner.plan(), (Plan{{2, 1}}));
  tuner.learn(std::vector{2e-6});
  EXPECT_EQ(tuner.best(), 1U);
  EXPECT_FALSE(tuner.settled());
  EXPECT_DOUBLE_EQ(tuner.estimate(2), 2e-6);
  EXPECT_DOUBLE_EQ(tuner.total(), 6e-6);
  EXPECT_DOUBLE_EQ(tuner.spent(), 3e-6);
}

TEST(Tuner, LooksAgainAtWhatNobodyTimed) {
  Tuner tuner(2);
  tuner.learn(std::vector{0.0});
  EXPECT_EQ(tuner.plan(), (Plan{{0, 1}}));
}

TEST(Tuner, LooksAtNothingNewWhileTooMuchIsSpent) {
  Tuner tuner(4);
  tuner.learn(std::vector{1e-6});
  tuner.learn(std::vector{200e-6});
  for (int epoch = 0; epoch < 10; ++epoch) {
    EXPECT_EQ(tuner.estimate(2), 0) << "199 us are more than a tenth of 1,000 calls";
    for (const auto& run : tuner.plan()) EXPECT_EQ(run.candidate, 0U);
    tuner.learn(std::vector<double>(tuner.plan().size(), 1e-6));
  }
  while (tuner.total() < 3000e-6) tuner.learn(std::vector<double>(tuner.plan().size(), 1e-6));
  EXPECT_GT(tuner.estimate(2), 0) << "by now they are not";
}

TEST(Tuner, OneCandidateIsSettledAtOnce) {
  Tuner tuner(1);
  tuner.learn(std::vector{1e-6});
  EXPECT_TRUE(tuner.settled());
  for (const auto& run : tuner.plan()) EXPECT_EQ(run.candidate, 0U);
}

TEST(Tuner, AHopelessCandidateIsNotTriedAgain) {
  const Machine machine{.name = "", .microseconds = {1, 100, 1.2}};
  Recording recording = record(machine, 1);
  Tuner tuner(3);
  const std::vector<double> taken = replay(recording, tuner);
  EXPECT_EQ(std::ranges::count_if(taken, [](double t) { return t > 50e-6; }), 1);
}

TEST(Tuner, AgreesSeldomInALongRun) {
  const Recording recording = record({.name = "", .microseconds = {1, 1.5, 2}}, 1, 100'000);
  Tuner tuner(3);
  std::size_t agreements = 0;
  std::size_t calls = 0;
  while (calls < 100'000) {
    std::vector<double> times;
    for (const auto& run : tuner.plan()) {
      times.push_back(recording[run.candidate][calls % 100'000]);
      calls += run.calls;
    }
    tuner.learn(times);
    ++agreements;
  }
  EXPECT_LE(agreements, 300U);
}

// Members see different times, and one of them comes late to every seventh call; what they agree on is the least.
TEST(Tuner, MembersDecideAlikeAndASkewDoesNoHarm) {
  constexpr std::size_t kMembers = 4;
  const Machine machine{.name = "", .microseconds = {2, 1, 3}};
  std::vector<Recording> recordings;
  for (uint64_t member = 0; member < kMembers; ++member)
    recordings.push_back(record(machine, 100 + member));
  std::vector<Tuner> tuners(kMembers, Tuner(3));
  for (std::size_t call = 0; call + 600 < kCalls;) {
    std::vector<Epoch> epochs;
    for (const Tuner& tuner : tuners) epochs.emplace_back(tuner.plan());
    for (; !epochs.front().over(); ++call) {
      const uint32_t candidate = epochs.front().candidate();
      for (std::size_t member = 0; member < kMembers; ++member) {
        ASSERT_EQ(epochs[member].candidate(), candidate) << "call " << call;
        const bool waits = call % 7 == 0 && member != call % kMembers;
        epochs[member].note(recordings[member][candidate][call] + (waits ? 50e-6 : 0));
      }
    }
    std::vector<double> agreed = epochs.front().times();
    for (const Epoch& epoch : epochs)
      std::ranges::transform(agreed, epoch.times(), agreed.begin(),
                             [](double a, double b) { return std::min(a, b); });
    for (Tuner& tuner : tuners) tuner.learn(agreed);
  }
  for (const Tuner& tuner : tuners) EXPECT_EQ(tuner.best(), 1U);
}

TEST(Epoch, FollowsThePlanAndTakesTheLowerMedian) {
  Epoch epoch({{2, 1}, {0, 4}});
  EXPECT_EQ(epoch.candidate(), 2U);
  epoch.note(7);
  for (const double seconds : {4.0, 1.0, 100.0, 2.0}) {
    EXPECT_FALSE(epoch.over());
    EXPECT_EQ(epoch.candidate(), 0U);
    epoch.note(seconds);
  }
  EXPECT_TRUE(epoch.over());
  EXPECT_EQ(epoch.times(), (std::vector{7.0, 2.0}));
}

TEST(Candidates, ClassesOfSizesAreQuartersOfOctaves) {
  EXPECT_EQ(size_class(0), 0U);
  EXPECT_EQ(size_class(8), size_class(9));
  EXPECT_NE(size_class(8), size_class(10));
  for (uint32_t c = 0; c < 160; ++c) {
    EXPECT_EQ(size_class(smallest_of_class(c)), c);
    EXPECT_EQ(size_class(smallest_of_class(c + 1) - 1), c);
  }
}

TEST(Candidates, CostsAreThoseOfTheFiles) {
  // By hand: L + 2o = 1 + 2 * 2, 5 members, so ceil(log2 n) = 3 and n - 1 = 4; 100 bytes.
  const LogGp machine{
      .latency = 1, .overhead = 2, .gap = 3, .per_byte = 0.1, .per_combined_byte = 0.01};
  const auto of = [&](int32_t collective, int32_t algorithm) {
    return cost(collective, algorithm, 5, 100, machine).value_or(-1);
  };
  EXPECT_DOUBLE_EQ(of(OMPL_BROADCAST, OMPL_COLL_BINOMIAL), 3 * (5 + 10));
  EXPECT_DOUBLE_EQ(of(OMPL_BROADCAST, OMPL_COLL_CHAIN), 4 * (5 + 10));
  EXPECT_DOUBLE_EQ(of(OMPL_BROADCAST, OMPL_COLL_SCATTER_ALLGATHER), 7 * 5 + 16);
  EXPECT_DOUBLE_EQ(of(OMPL_ALLREDUCE, OMPL_COLL_RECURSIVE_DOUBLING), 3 * (5 + 10 + 1));
  EXPECT_DOUBLE_EQ(of(OMPL_ALLREDUCE, OMPL_COLL_RABENSEIFNER), 6 * 5 + 16 + 0.8);
  EXPECT_DOUBLE_EQ(of(OMPL_ALLREDUCE, OMPL_COLL_RING), 8 * 5 + 16 + 0.8);
  EXPECT_DOUBLE_EQ(of(OMPL_ALLREDUCE, OMPL_COLL_DIRECT), 5 + 3 * 3 + 40 + 4);
  EXPECT_DOUBLE_EQ(of(OMPL_ALLGATHER, OMPL_COLL_RING), 4 * 5 + 40);
  EXPECT_DOUBLE_EQ(of(OMPL_ALLGATHER, OMPL_COLL_BRUCK), 3 * 5 + 40);
  EXPECT_DOUBLE_EQ(of(OMPL_ALLGATHER, OMPL_COLL_NEIGHBOR_EXCHANGE), 2.5 * 5 + 40);
  EXPECT_DOUBLE_EQ(of(OMPL_ALLGATHER, OMPL_COLL_DIRECT), 5 + 3 * 3 + 40);
  EXPECT_DOUBLE_EQ(of(OMPL_SCATTER, OMPL_COLL_BINOMIAL), 3 * 5 + 40);
  EXPECT_DOUBLE_EQ(of(OMPL_ALLTOALL, OMPL_COLL_PAIRWISE), 4 * (5 + 10));
  EXPECT_DOUBLE_EQ(of(OMPL_ALLTOALL, OMPL_COLL_BRUCK), 3 * (5 + 25));
  EXPECT_DOUBLE_EQ(of(OMPL_REDUCE_SCATTER, OMPL_COLL_RECURSIVE_HALVING), 3 * 5 + 40 + 4);
  EXPECT_EQ(of(OMPL_BROADCAST, OMPL_COLL_RING), -1) << "there is none";
}

std::vector<int32_t> algorithms_of(const std::vector<TunerChoice>& choices) {
  std::vector<int32_t> algorithms;
  for (const TunerChoice& choice : choices) algorithms.push_back(choice.algorithm);
  return algorithms;
}

TEST(Candidates, TheShortListBeginsWithTheCheapestAndLeavesOutTheHopeless) {
  CallKind kind{.collective = OMPL_ALLGATHER, .members = 64, .size_class = size_class(8)};
  const std::vector<int32_t> few = algorithms_of(short_list(kind, {}));
  ASSERT_FALSE(few.empty());
  EXPECT_TRUE(few.front() == OMPL_COLL_BRUCK || few.front() == OMPL_COLL_RECURSIVE_DOUBLING);
  EXPECT_EQ(std::ranges::count(few, OMPL_COLL_RING), 0) << "63 messages instead of 6";
  kind.size_class = size_class(1 << 20);
  const std::vector<int32_t> all = algorithms_of(short_list(kind, {}));
  EXPECT_EQ(std::ranges::count(all, OMPL_COLL_RING), 1) << "bytes outweigh messages";
}

// Member 0 of a scan waits for nobody.
TEST(Tuning, WhereSomeAreDoneEarlyTheLongestTimeCounts) {
  uint32_t element = 0;
  for (int32_t collective = OMPL_BARRIER; collective <= OMPL_EXSCAN; ++collective) {
    SCOPED_TRACE(ompl_coll_name(collective));
    const Tuning tuning({.collective = collective}, {{OMPL_COLL_BINOMIAL}, {OMPL_COLL_RING}}, {});
    const bool all_wait = collective == OMPL_BARRIER || collective == OMPL_ALLREDUCE ||
                          collective == OMPL_ALLGATHER || collective == OMPL_ALLTOALL ||
                          collective == OMPL_REDUCE_SCATTER;
    const int32_t op = all_wait ? OMPL_MIN : OMPL_MAX;
    EXPECT_EQ(tuning.agreement().kernel, kernel_of(OMPL_DOUBLE, op, &element));
  }
}

TEST(Candidates, AnOperationThatKeepsOrderGetsFewer) {
  const CallKind kind{.collective = OMPL_ALLREDUCE,
                      .members = 8,
                      .size_class = size_class(1 << 20),
                      .commutative = false};
  EXPECT_EQ(short_list(kind, {}),
            (std::vector<TunerChoice>{{OMPL_COLL_RECURSIVE_DOUBLING}, {OMPL_COLL_DIRECT}}));
}

// Each algorithm that is left open in each mode that may pay: for short calls no thread is woken.
TEST(Candidates, OpenModesMultiplyTheShortList) {
  CallKind kind{.collective = OMPL_ALLREDUCE, .members = 4, .size_class = size_class(8), .modes = true};
  EXPECT_EQ(modes(kind), (std::vector<int32_t>{OMPL_PROGRESS_NONE, OMPL_PROGRESS_IDLE}));
  kind.size_class = size_class(1 << 16);
  EXPECT_EQ(modes(kind).size(), 4U);
  kind.algorithm = OMPL_COLL_RING;
  const std::vector<TunerChoice> choices = short_list(kind, {});
  ASSERT_EQ(choices.size(), 4U);
  EXPECT_EQ(choices.front(), (TunerChoice{OMPL_COLL_RING, OMPL_PROGRESS_NONE}));
  EXPECT_EQ(name_of(choices[1]), "ring/shared");
  kind.modes = false;
  EXPECT_EQ(short_list(kind, {}), (std::vector<TunerChoice>{{OMPL_COLL_RING}}));
}

// Of nonblocking calls, whose times come late: the call with the agreement in it counts for nothing, nor do times of an epoch
// that is gone; and where some are missing, the next epochs end later.
TEST(Tuning, TimesOfNonblockingCallsMayComeLate) {
  const CallKind kind{.collective = OMPL_ALLREDUCE,
                      .members = 2,
                      .size_class = size_class(1 << 16),
                      .modes = true,
                      .algorithm = OMPL_COLL_RING};
  Tuning tuning(kind, short_list(kind, {}), {});
  EXPECT_EQ(tuning.take().epoch, 0U) << "a member may begin late";
  Ticket first;
  for (int call = 0; call < 3; ++call) {
    first = tuning.take();
    EXPECT_EQ(first.candidate, 0U);
  }
  ASSERT_TRUE(tuning.over());
  EXPECT_EQ(tuning.times().front(), 0) << "it is still under way";
  tuning.learn(tuning.times());
  tuning.note(first, 1);
  EXPECT_EQ(tuning.times().front(), 0) << "too late";
  EXPECT_EQ(tuning.take().epoch, 0U) << "the agreement is a part of it";
  std::vector<Ticket> again;
  for (int call = 0; call < 3; ++call) again.push_back(tuning.take());
  EXPECT_EQ(again.front().candidate, 0U);
  EXPECT_FALSE(tuning.over()) << "one more may be started before that is over";
  EXPECT_EQ(tuning.take().epoch, 0U);
  ASSERT_TRUE(tuning.over());
  tuning.note(again[0], 2e-3);
  tuning.note(again[1], 1);  // disturbed
  tuning.note(again[2], 2e-3);
  EXPECT_NEAR(tuning.times().front(), 2e-3, 1e-9);
  tuning.learn(tuning.times());
  EXPECT_NEAR(tuning.tuner().estimate(0), 2e-3, 1e-9);
  EXPECT_EQ(&tuning.agreement(),
            &Tuning({.collective = OMPL_BROADCAST}, short_list(kind, {}), {}).agreement())
      << "the slowest member counts";
}

TEST(Candidates, AKindIsWhatMembersShare) {
  const CollectiveCall call{.collective = OMPL_REDUCE, .me = 3, .size = 8, .root = 2, .length = 1000};
  CollectiveCall other = call;
  other.me = 5;
  other.in_place = true;
  EXPECT_EQ(kind_of(call), kind_of(other));
  EXPECT_EQ(kind_of(call).size_class, size_class(1000));
  EXPECT_EQ(kind_of(call).members, 8U);
}

}  // namespace
}  // namespace ompl::coll
