// SPDX-License-Identifier: BSD-3-Clause
// Waiting for values, and for several flags: any, some, all.
#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "conformance/conformance.hpp"

namespace ompl::conformance {
namespace {

constexpr int64_t kLong = 240'000'000'000;  // ns; nothing takes so long

ompl_condition take(uint64_t flag, uint32_t width = 32) {
  return {.flag_addr = flag, .value = 0, .comparison = OMPL_TAKE, .width = width};
}

TEST_P(Conformance, Conditions_CompareModuloTheWidth) {
  world()->run([](Rank& r) {
    const uint64_t flags = r.allocate(16);
    struct Case {
      uint64_t flag, value;
      std::set<uint32_t> holding;
    };
    const std::set<uint32_t> equal{OMPL_EQ, OMPL_GE, OMPL_LE};
    const std::set<uint32_t> greater{OMPL_NE, OMPL_GT, OMPL_GE};
    const std::set<uint32_t> less{OMPL_NE, OMPL_LT, OMPL_LE};
    for (const uint32_t width : {32U, 64U}) {
      const uint64_t most = width == 32 ? UINT32_MAX : UINT64_MAX;
      for (const Case& c : {Case{7, 7, equal}, Case{8, 7, greater}, Case{6, 7, less},
                            Case{most, most, equal}, Case{3, most - 3, greater},  // it has wrapped
                            Case{most - 3, 3, less}}) {
        const ompl_signal set{
            .flag_addr = flags, .value = c.flag, .op = width == 32 ? OMPL_SET32 : OMPL_SET64};
        ok(ompl_ctx_signal(r.ctx(), r.rank, &set, OMPL_FOREVER));
        ok(r.quiet());
        for (uint32_t comparison = OMPL_EQ; comparison <= OMPL_LE; ++comparison) {
          const ompl_condition condition{
              .flag_addr = flags, .value = c.value, .comparison = comparison, .width = width};
          const int expected = c.holding.contains(comparison) ? OMPL_OK : OMPL_ERR_TIMEOUT;
          EXPECT_EQ(ompl_ctx_wait_until(r.ctx(), &condition, 0), expected)
              << c.flag << " and " << c.value << ", comparison " << comparison << ", " << width;
        }
      }
    }
  });
}

// As much as is asked for, at once or not at all, by several threads from one flag; all or none with other conditions.
TEST_P(Conformance, Conditions_R9_ManyAreTakenAtOnce) {
  constexpr unsigned kThreads = 3;
  const auto w = world();
  const uint64_t flags = w->allocate(24);
  const uint32_t each = rounds(40);
  w->run(
      [&](Rank& r) {
        const uint64_t amount = r.thread + 1;
        const ompl_condition some{
            .flag_addr = flags, .value = amount, .comparison = OMPL_TAKE_MANY, .width = 64};
        for (uint32_t i = 0; i < each; ++i) {
          for (uint64_t sent = 0; sent < amount; ++sent) ok(ompl_add64(r.right(), flags, 1));
          ok(ompl_ctx_wait_until(r.ctx(), &some, kLong));
        }
        ok(r.quiet());
      },
      kThreads);
  w->run([&](Rank& r) {
    ok(r.barrier());
    EXPECT_EQ(*static_cast<uint64_t*>(ompl_ptr(r.rank, flags)), 0U);
    ok(ompl_add32(r.rank, flags + 8, 5));
    ok(r.quiet());
    std::array<ompl_condition, 2> both{
        ompl_condition{.flag_addr = flags + 8, .value = 4, .comparison = OMPL_TAKE_MANY, .width = 32},
        ompl_condition{.flag_addr = flags + 16, .value = 1, .comparison = OMPL_TAKE_MANY, .width = 32}};
    EXPECT_EQ(ompl_ctx_wait_all(r.ctx(), both.data(), both.size(), 1000), OMPL_ERR_TIMEOUT);
    EXPECT_EQ(r.count(flags + 8), 5U);
    ok(ompl_add32(r.rank, flags + 16, 1));
    ok(ompl_ctx_wait_all(r.ctx(), both.data(), both.size(), kLong));
    EXPECT_EQ(r.count(flags + 8), 1U);
    both[0].value = 0;
    EXPECT_EQ(ompl_ctx_wait_until(r.ctx(), both.data(), 0), OMPL_ERR_ARG);
    both[0].value = uint64_t{1} << 32;
    EXPECT_EQ(ompl_ctx_wait_until(r.ctx(), both.data(), 0), OMPL_ERR_ARG);
  });
}

// Nothing is taken by comparing; a 64-bit flag can be taken from.
TEST_P(Conformance, Conditions_OnlyTakingTakes) {
  world()->run([](Rank& r) {
    const uint64_t flag = r.allocate(8);
    const ompl_signal three{.flag_addr = flag, .value = 3, .op = OMPL_ADD64};
    ok(ompl_ctx_signal(r.ctx(), r.right(), &three, OMPL_FOREVER));
    const ompl_condition there{.flag_addr = flag, .value = 3, .comparison = OMPL_EQ, .width = 64};
    for (int i = 0; i < 3; ++i) ok(ompl_ctx_wait_until(r.ctx(), &there, kLong));
    const ompl_condition one = take(flag, 64);
    for (int i = 0; i < 3; ++i) ok(ompl_ctx_wait_until(r.ctx(), &one, kLong));
    EXPECT_EQ(ompl_ctx_wait_until(r.ctx(), &one, 1000), OMPL_ERR_TIMEOUT);
  });
}

constexpr std::size_t kFlags = 12;

std::array<ompl_condition, kFlags> takes(uint64_t flags) {
  std::array<ompl_condition, kFlags> list{};
  for (std::size_t i = 0; i < kFlags; ++i) list.at(i) = take(flags + 4 * i);
  return list;
}

// Each signal is found once, by any or by some, whatever the flag; no flag is starved.
TEST_P(Conformance, Conditions_AnyAndSomeFindEverySignalOnce) {
  for (const bool one_by_one : {true, false}) {
    const auto w = world();
    const uint64_t flags = w->allocate(4 * kFlags);
    w->run([&](Rank& r) {
      const auto list = takes(flags);
      const uint32_t each = rounds(30);
      const std::unique_ptr<Rank> other = r.context();
      std::array<uint32_t, kFlags> taken{};
      std::size_t all = 0;
      for (uint32_t i = 0; i < each; ++i) {
        for (std::size_t k = 0; k < kFlags; ++k)
          ok(other->signal(r.right(), flags + 4 * (k * 5 % kFlags)));
        std::array<std::size_t, kFlags> found{};
        std::size_t count = 1;
        if (one_by_one) ok(ompl_ctx_wait_any(r.ctx(), list.data(), kFlags, found.data(), kLong));
        if (!one_by_one)
          ok(ompl_ctx_wait_some(r.ctx(), list.data(), kFlags, found.data(), &count, kLong));
        for (std::size_t k = 0; k < count; ++k) ++taken.at(found.at(k));
        all += count;
      }
      while (all < each * kFlags) {
        std::size_t which = kFlags;
        ok(ompl_ctx_wait_any(r.ctx(), list.data(), kFlags, &which, kLong));
        ++taken.at(which);
        ++all;
      }
      for (const uint32_t count : taken) EXPECT_EQ(count, each);
      std::size_t none = 99;
      EXPECT_EQ(ompl_ctx_wait_any(r.ctx(), list.data(), kFlags, &none, 0), OMPL_ERR_TIMEOUT);
      EXPECT_EQ(none, 99U);
    });
  }
}

// Who waits for several flags sleeps, and any of them wakes it [15].
TEST_P(Conformance, Conditions_R15_ASleeperOnSeveralFlagsIsWoken) {
  const auto w = world();
  const uint64_t flags = w->allocate(4 * kFlags);
  const uint64_t neighbour = w->allocate(4);     // how many the right neighbour has taken
  std::array<std::atomic<uint32_t>, 2> taken{};  // by rank
  w->run(
      [&](Rank& r) {
        if (r.thread == 0) {
          const auto list = takes(flags);
          for (uint32_t i = 0; i < rounds(20); ++i) {
            std::size_t which = kFlags;
            ok(ompl_ctx_wait_any(r.ctx(), list.data(), kFlags, &which, OMPL_FOREVER));
            EXPECT_EQ(which, i % kFlags);
            ok(r.signal(r.left(), neighbour));
            ok(r.quiet());
            taken.at(r.rank) = i + 1;
          }
          return;
        }
        for (uint32_t i = 0; i < rounds(20); ++i) {
          // No flag before the one before it was taken: no order is promised between two that are there.
          while (r.count(neighbour) < i || (r.sleepers() == 0 && taken.at(r.rank) <= i))
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          ok(r.signal(r.right(), flags + 4 * (i % kFlags)));
          ok(r.quiet());
        }
      },
      2);
}

TEST_P(Conformance, Conditions_R9_AllTakesFromAllOrFromNone) {
  const auto w = world();
  const uint64_t flags = w->allocate(4 * kFlags);
  w->run([&](Rank& r) {
    const auto list = takes(flags);
    for (uint32_t i = 0; i < rounds(20); ++i) {
      for (std::size_t k = 1; k < kFlags; ++k) ok(r.signal(r.right(), flags + 4 * k));
      ok(r.barrier());
      EXPECT_EQ(ompl_ctx_wait_all(r.ctx(), list.data(), kFlags, i == 0 ? 2'000'000 : 0),
                OMPL_ERR_TIMEOUT);
      for (std::size_t k = 1; k < kFlags; ++k) EXPECT_EQ(r.count(flags + 4 * k), 1U) << k;
      ok(r.barrier());
      ok(r.signal(r.right(), flags));
      ok(ompl_ctx_wait_all(r.ctx(), list.data(), kFlags, kLong));
      for (std::size_t k = 0; k < kFlags; ++k) EXPECT_EQ(r.count(flags + 4 * k), 0U) << k;
      ok(r.barrier());
    }
  });
}

// Two threads that want overlapping sets: each gets its own in the end, and nothing is lost.
TEST_P(Conformance, Conditions_R9_ThreadsThatWantAllOfOverlappingFlags) {
  constexpr unsigned kThreads = 3;
  const auto w = world();
  const uint64_t flags = w->allocate(16);
  w->run(
      [&](Rank& r) {
        const uint32_t each = rounds(100);
        if (r.thread == kThreads) {  // the producer: one of each flag for each taker
          for (uint32_t i = 0; i < each * kThreads; ++i)
            for (const uint64_t flag : {flags, flags + 4, flags + 8}) ok(r.signal(r.right(), flag));
          return;
        }
        std::array<ompl_condition, 3> list{take(flags), take(flags + 4), take(flags + 8)};
        std::ranges::rotate(list, list.begin() + r.thread);
        for (uint32_t i = 0; i < each; ++i)
          ok(ompl_ctx_wait_all(r.ctx(), list.data(), list.size(), OMPL_FOREVER));
      },
      kThreads + 1);
  w->run([&](Rank& r) {
    for (const uint64_t flag : {flags, flags + 4, flags + 8}) EXPECT_EQ(r.drain(flag), 0U);
  });
}

TEST_P(Conformance, Conditions_BadArguments) {
  world()->run([](Rank& r) {
    const uint64_t flag = r.allocate(12);
    std::size_t which = 0;
    std::size_t found = 0;
    const auto wait = [&](const ompl_condition& c) { return ompl_ctx_wait_until(r.ctx(), &c, 0); };
    EXPECT_EQ(wait({flag, 0, 7, 32}), OMPL_ERR_ARG);
    EXPECT_EQ(wait({flag, 0, OMPL_EQ, 16}), OMPL_ERR_ARG);
    EXPECT_EQ(wait({flag + 2, 0, OMPL_EQ, 32}), OMPL_ERR_ALIGN);
    EXPECT_EQ(wait({flag + 4, 0, OMPL_EQ, 64}), OMPL_ERR_ALIGN);
    EXPECT_EQ(wait({flag + 8, 0, OMPL_EQ, 64}), OMPL_ERR_LENGTH);
    EXPECT_EQ(wait({0, 0, OMPL_EQ, 32}), OMPL_ERR_OFFSET);
    EXPECT_EQ(ompl_ctx_wait_until(r.ctx(), nullptr, 0), OMPL_ERR_ARG);
    const std::array<ompl_condition, 2> second_is_bad{take(flag), {flag, 0, 7, 32}};
    EXPECT_EQ(ompl_ctx_wait_all(r.ctx(), second_is_bad.data(), 2, 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_ctx_wait_any(r.ctx(), second_is_bad.data(), 2, &which, 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_ctx_wait_any(r.ctx(), second_is_bad.data(), 1, nullptr, 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_ctx_wait_any(r.ctx(), nullptr, 0, &which, 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_ctx_wait_some(r.ctx(), nullptr, 3, &which, &found, 0), OMPL_ERR_ARG);
    ok(r.barrier());
  });
}

}  // namespace
}  // namespace ompl::conformance
