// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong on a device: broken queue pairs, lost datagrams, no memory to lock, receivers that sleep. Over the
// stand-in, which can be told to do so.
#include <chrono>
#include <functional>
#include <thread>

#include "conduit/verbs/tests/stub/stub_call.hpp"
#include "over_verbs.hpp"

namespace ompl::conformance {
namespace {

// Over each transport.
class VerbsFailure : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { log::set_level(log::Level::off); }

  static std::unique_ptr<ThreadWorld> world(Shape shape) {
    return std::make_unique<ThreadWorld>(over_verbs(GetParam()), shape);
  }
};

INSTANTIATE_TEST_SUITE_P(over, VerbsFailure, ::testing::Values("rc", "xrc", "dc"),
                         [](const auto& each) { return std::string(each.param); });

// Drives progress until then. An error other than `allowed` is a failure, however often polls report it.
void poll_until(const std::function<bool()>& over, Rank& r, uint64_t flag, int allowed) {
  int wrong = OMPL_OK;
  while (!over()) {
    const int code = r.poll(flag);
    if (code < 0 && code != allowed) wrong = code;
  }
  EXPECT_EQ(wrong, OMPL_OK) << "rank " << r.rank << ": " << ompl_error_detail();
}

constexpr std::size_t kLarge = std::size_t{1} << 20;

TEST_P(VerbsFailure, R18_ABrokenQueuePairIsAnErrorInWordsAndNothingIsSentAgain) {
  const auto w = world({.ranks = 2, .endpoints = 1, .ends_well = false});
  std::atomic<uint32_t> settled{0};
  std::atomic<bool> breaks{false};
  std::atomic<bool> broken{false};
  std::atomic<uint32_t> seen{0};
  w->run([&](Rank& r) {
    const uint64_t flag = r.allocate(64);
    ok(r.signal(r.right(), flag));
    ok(r.wait(flag));
    ok(r.quiet());
    ++settled;
    int polled = OMPL_OK;
    while (settled < 2 && polled >= 0) polled = r.poll(flag);
    EXPECT_TRUE(polled >= 0 || breaks) << ompl_error_detail();
    if (r.rank == 0) {
      breaks = true;
      EXPECT_GE(STUB(verbs_stub_break_connections)(), 2U);
      broken = true;
    }
    while (!broken) r.poll(flag);  // which fails once it learns of that
    int code = OMPL_OK;
    while (code == OMPL_OK) {
      code = r.signal(r.right(), flag + 4);
      if (code == OMPL_OK) code = r.quiet();
    }
    EXPECT_EQ(code, OMPL_ERR_LINK) << "the other rank lives";
    EXPECT_NE(std::strstr(ompl_error_detail(), "Flushed"), nullptr) << ompl_error_detail();
    EXPECT_EQ(r.signal(r.right(), flag + 4), OMPL_ERR_LINK) << "and so it stays";
    ok(r.signal(r.rank, flag + 8));  // the slot itself works
    EXPECT_EQ(r.failure_ack(), 1);
    ok(r.wait(flag + 8));
    ++seen;
    poll_until([&] { return seen == 2; }, r, flag, OMPL_OK);
    EXPECT_LE(r.count(flag + 4), 1U) << "nothing was sent twice";
  });
}

// More of them break than an endpoint has DC initiators. Over XRC the ranks of a node, two here, share their fate. Over
// RC and XRC the other side of what broke learns of it sooner or later, over DC it has nothing that breaks.
TEST_P(VerbsFailure, R18_WhatBreaksOneConnectionLeavesTheOthersAlone) {
  constexpr uint32_t kRanks = 22;
  const auto w = world({.ranks = kRanks, .endpoints = 1, .ends_well = false});
  const uint64_t data = w->allocate(kLarge);
  const uint64_t flag = w->allocate(64);
  const bool shared = std::string(GetParam()) == "xrc";
  const bool both_sides = std::string(GetParam()) != "dc";
  std::atomic<uint32_t> done{0};
  const auto all_done = [&] { return done == kRanks; };
  w->run([&](Rank& r) {
    if (r.rank != 0) {
      if (r.rank == 1) {
        for (uint32_t i = 0; i < kRanks / 2; ++i) ok(r.wait(flag));
        EXPECT_EQ(mismatch(r.own(data), kLarge, kRanks), kLarge);
      }
      ++done;
      const bool breaks = both_sides && r.rank > 1 && (shared || r.rank % 2 == 0);
      poll_until(all_done, r, flag + 8, breaks ? OMPL_ERR_LINK : OMPL_OK);
      EXPECT_EQ(r.count(flag + 4), 0U);
      return;
    }
    const std::vector<std::byte> source = pattern(kLarge, kRanks);
    for (uint32_t rank = 1; rank < kRanks; ++rank) ok(r.signal(rank, flag + 12));  // connected
    ok(r.quiet());
    ok(r.signal(1, flag));
    ok(r.quiet());
    for (uint32_t rank = 2; rank < kRanks; rank += 2) {
      STUB(verbs_stub_refuse_accesses)(1);
      int code = r.signal(rank, flag + 4);
      if (code == OMPL_OK) code = r.quiet();
      EXPECT_EQ(code, OMPL_ERR_LINK) << rank << ": " << ompl_error_detail();
      EXPECT_NE(std::strstr(ompl_error_detail(), "remote access"), nullptr) << ompl_error_detail();
      EXPECT_EQ(r.signal(rank + 1, flag + 16), shared ? OMPL_ERR_LINK : OMPL_OK);
      ok(r.put(source.data(), 1, data, kLarge));
      ok(r.signal(1, flag));
    }
    EXPECT_EQ(r.failure_ack(), shared ? kRanks - 2 : kRanks / 2 - 1) << "what calls reported";
    ok(r.quiet());
    ++done;
    poll_until(all_done, r, flag + 8, OMPL_OK);
  });
}

// The second of rank 1's two endpoints talks to the only one of rank 0, which talks back to the first.
TEST(VerbsUnequalPools, R18_AWaitEndsWhenAConnectionBreaksThatOnlyTheOtherSideSendsOn) {
  log::set_level(log::Level::off);
  ThreadWorld world(over_verbs("rc", {1, 2}), {.ranks = 2, .ends_well = false});
  std::atomic<bool> done{false};
  world.run([&](Rank& r) {
    const uint64_t flag = r.allocate(12);
    if (r.rank == 0) {
      ok(r.wait(flag));
      EXPECT_EQ(r.wait(flag + 4, 200'000'000'000), OMPL_ERR_LINK);
      ok(r.signal(1, flag + 8));  // its own connection works
      done = true;
      return;
    }
    const auto other = r.context();
    ok(other->signal(0, flag));
    ok(other->quiet());
    STUB(verbs_stub_refuse_accesses)(1);
    ok(other->signal(0, flag + 4));
    while (!done) r.poll(flag);  // which fails once it learns of the break
    EXPECT_EQ(other->quiet(), OMPL_ERR_LINK);
  });
}

TEST_P(VerbsFailure, LostDatagramsAreSentAgain) {
  const auto w = world({.ranks = 3, .endpoints = 2});
  const uint64_t flag = w->allocate(64);
  STUB(verbs_stub_drop_datagrams)(25);
  w->run([&](Rank& r) {
    for (uint32_t distance = 1; distance < r.size; ++distance) ok(r.signal(r.right(distance), flag));
    for (uint32_t distance = 1; distance < r.size; ++distance) ok(r.wait(flag));
  });
  STUB(verbs_stub_drop_datagrams)(0);
}

TEST_P(VerbsFailure, MemoryThatCannotBeLockedIsAnErrorAndTheNextPutWorks) {
  const auto w = world({.ranks = 2});
  const uint64_t data = w->allocate(kLarge);
  w->run([&](Rank& r) {
    const std::vector<std::byte> source = pattern(kLarge, r.rank);
    ok(r.barrier());
    if (r.rank == 0) {
      ok(r.put(source.data(), 1, data, kLarge));
      STUB(verbs_stub_refuse_registrations)(1);
      EXPECT_EQ(r.put(source.data(), 1, data, kLarge), OMPL_ERR_MEMORY);
      EXPECT_NE(std::strstr(ompl_error_detail(), "ulimit -l"), nullptr) << ompl_error_detail();
      ok(r.put(source.data(), 1, data, kLarge));
    }
    ok(r.barrier());
    if (r.rank == 1) {
      EXPECT_EQ(mismatch(r.own(data), kLarge, 0), kLarge);
    }
    ok(r.barrier());
  });
}

TEST_P(VerbsFailure, R20_AnAllocationThatOneRankCannotLockFailsOnAllAndTheNextWorks) {
  const auto w = world({.ranks = 3});
  w->run([&](Rank& r) {
    ok(r.barrier());
    if (r.rank == 1) STUB(verbs_stub_refuse_registrations)(1);
    ok(r.barrier());
    uint64_t refused = 0;
    EXPECT_EQ(r.alloc(kLarge, &refused), OMPL_ERR_MEMORY) << ompl_error_detail();
    const uint64_t data = r.allocate(kLarge);
    const std::vector<std::byte> source = pattern(kLarge, r.rank);
    ok(r.put(source.data(), r.right(), data, kLarge));
    ok(r.barrier());
    EXPECT_EQ(mismatch(r.own(data), kLarge, r.left()), kLarge);
    ok(r.barrier());
  });
}

// Allocated where another one was: the keys known of that one are forgotten.
TEST_P(VerbsFailure, R20_KeysOfFreedAllocationsAreNotUsedAgain) {
  const auto w = world({.ranks = 2});
  w->run([&](Rank& r) {
    for (uint32_t round = 0; round < 20; ++round) {
      const uint64_t data = r.allocate(4096 << round % 3);
      const std::vector<std::byte> source = pattern(4096, round);
      ok(r.put(source.data(), r.right(), data, 4096));
      ok(r.barrier());
      EXPECT_EQ(mismatch(r.own(data), 4096, round), 4096U);
      ok(r.free(data));
    }
  });
}

// The library is told that the process may fork, before memory is registered: else a fork would take registered pages away.
TEST_P(VerbsFailure, ForksAreAnnouncedBeforeMemoryIsRegistered) {
  const auto w = world({.ranks = 2});
  w->run([](Rank& r) { ok(r.barrier()); });
  auto* const forks_are_safe = STUB(verbs_stub_forks_are_safe);
  if (forks_are_safe == nullptr) GTEST_SKIP() << "not over the stand-in";
  EXPECT_EQ(forks_are_safe(), 1);
}

// More than its receive queue and its completion queue hold [4].
TEST_P(VerbsFailure, R4_ASleepingReceiverStallsItsSendersAndLosesNothing) {
  constexpr uint32_t kSignals = 4000;
  const auto w = world({.ranks = 3, .endpoints = 2});
  const uint64_t flag = w->allocate(64);
  std::atomic<bool> woken{false};
  w->run([&](Rank& r) {
    if (r.rank == 0) {
      ok(r.wait(flag));                                             // connected
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // outside the layer
      for (uint32_t i = 1; i < kSignals * (r.size - 1); ++i) ok(r.wait(flag));
      EXPECT_EQ(r.count(flag), 0U);
      woken = true;
      return;
    }
    for (uint32_t i = 0; i < kSignals; ++i) ok(r.signal(0, flag));
    ok(r.quiet());
  });
  EXPECT_TRUE(woken);
}

}  // namespace
}  // namespace ompl::conformance
