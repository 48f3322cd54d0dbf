// SPDX-License-Identifier: BSD-3-Clause
// A thread pair over a library that is memory of this process, faultless or hostile on purpose: what
// the pair counts, and that it sees wrong data of any exchange, on either side. The same for a flow.
#include "harness/pingpong.hpp"

#include "harness/flow.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace bench {
namespace {

struct Stopped {};

// Both ranks' buffers and flags. Hostile: from put number `damage` of rank `liar` (2: none) on,
// bytes are wrong.
struct Memory {
  explicit Memory(std::size_t bytes) : sources{Bytes(bytes), Bytes(bytes)}, targets(sources) {}

  using Bytes = std::vector<std::byte>;
  std::array<Bytes, 2> sources;
  std::array<Bytes, 2> targets;
  std::array<std::atomic<int>, 2> flags{};
  std::atomic<bool> stop = false;
  std::size_t liar = 2;
  int damage = 0;
};

struct Rank {
  Memory& memory;
  std::size_t rank;
  int puts = 0;

  [[nodiscard]] std::byte* source(int /*channel*/) const { return memory.sources[rank].data(); }
  [[nodiscard]] std::byte* target(int /*channel*/) const { return memory.targets[rank].data(); }
  void put(int /*channel*/, std::size_t offset, std::size_t bytes) {
    std::byte* to = memory.targets[1 - rank].data() + offset;
    std::memcpy(to, source(0) + offset, bytes);
    if (rank == memory.liar && puts++ >= memory.damage) to[bytes - 1] ^= std::byte{1};
  }
  void signal(int /*channel*/) { ++memory.flags[1 - rank]; }
  void wait(int /*channel*/) {
    while (memory.flags[rank] == 0) {
      if (memory.stop) throw Stopped{};
      std::this_thread::yield();
    }
    --memory.flags[rank];
  }
};

struct Outcome {
  std::array<ThreadReport, 2> reports;
  std::array<std::string, 2> complaints;
};

template <template <class> class Bench = Pair>
Outcome run(Memory& memory, uint64_t iterations) {
  Command command;
  command.size = memory.sources[0].size();
  command.iterations = iterations;
  command.seconds = 60;
  command.sequence = 1;
  Outcome outcome;
  const auto side = [&](std::size_t i) {
    Rank library{memory, i};
    Bench<PutFlag<Rank>> pair({library, 0, command.size}, command, [&](const std::string& what) {
      outcome.complaints[i] = what;
      throw Stopped{};
    });
    try {
      outcome.reports[i] = i == 0 ? pair.lead() : pair.follow();
    } catch (const Stopped&) {
      memory.stop = true;
    }
  };
  std::thread follower(side, 1);
  side(0);
  follower.join();
  return outcome;
}

TEST(Pingpong, BothSidesCountTheSameIterations) {
  Memory memory(64);
  const Outcome outcome = run(memory, 1000);
  uint64_t samples = 0;
  for (const auto& [bucket, count] : outcome.reports[0].histogram.counts()) samples += count;
  EXPECT_EQ(outcome.reports[0].iterations, 1000U);
  EXPECT_EQ(outcome.reports[1].iterations, 1000U);
  EXPECT_GE(samples, 1000U / 64);
  EXPECT_LE(samples, 1000U);
  EXPECT_GT(outcome.reports[1].seconds, 0);
  EXPECT_EQ(outcome.complaints, (std::array<std::string, 2>{}));
}

class Damage : public testing::TestWithParam<std::tuple<std::size_t, int>> {};

TEST_P(Damage, IsSeenByTheOtherSide) {
  Memory memory(64);
  std::tie(memory.liar, memory.damage) = GetParam();
  const Outcome outcome = run(memory, 1000);
  EXPECT_NE(outcome.complaints[1 - memory.liar].find("differs"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Puts, Damage,
                         testing::Combine(testing::Values(0U, 1U), testing::Values(0, 1, 50, 700)));

TEST(Flow, TheTargetTakesAllAndAnswersOnce) {
  Memory memory(64);
  const Outcome outcome = run<Flow>(memory, 1000);
  EXPECT_EQ(outcome.reports[0].iterations, 1000U);
  EXPECT_EQ(outcome.reports[0].sent, 1000U);
  EXPECT_GT(outcome.reports[0].seconds, 0);
  EXPECT_EQ(memory.flags[0] + memory.flags[1], 0) << "everything was taken";
  EXPECT_EQ(outcome.complaints, (std::array<std::string, 2>{}));
}

TEST(Flow, WrongDataAreSeen) {
  Memory memory(64);
  memory.liar = 0;
  memory.damage = 999;  // the last of a thousand
  EXPECT_NE(run<Flow>(memory, 1000).complaints[1].find("after 1000 messages"), std::string::npos);
}

}  // namespace
}  // namespace bench
