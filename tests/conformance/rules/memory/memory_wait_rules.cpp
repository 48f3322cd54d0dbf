// SPDX-License-Identifier: BSD-3-Clause
// Waits for words that plain puts, atomics, signals and stores change.
#include <array>
#include <atomic>

#include "conformance/conformance.hpp"
#include "omnipgas/ompl_memory.h"

namespace ompl::conformance {
namespace {

constexpr int64_t kPatience = int64_t{300} * 1'000'000'000;

ompl_condition at_least(uint64_t word, uint64_t value, uint32_t width = 64) {
  return {.flag_addr = word, .value = value, .comparison = OMPL_GE, .width = width};
}

// Ping-pong by plain puts: the data put and fenced before the word are there.
TEST_P(Conformance, MemoryWaits_R28_SeeWhatPlainPutsChange) {
  OMPL_NOT_UNDER_TSAN();
  const auto w = world({.endpoints = 2});
  const uint64_t data = w->allocate(2048);
  const uint64_t word = w->allocate(8);
  w->run([&](Rank& r) {
    for (uint64_t i = 1; i <= rounds(100); ++i) {
      const auto source = pattern(2048, i);
      ok(r.put(source.data(), r.right(), data, source.size()));
      ok(ompl_ctx_fence(r.ctx(), r.right(), OMPL_FOREVER));
      ok(r.put(&i, r.right(), word, sizeof i));
      const ompl_condition there = at_least(word, i);
      ok(ompl_wait_memory(r.ctx(), &there, kPatience));
      EXPECT_EQ(mismatch(r.own(data), 2048, i), 2048U) << i;
      ok(r.barrier());
    }
  });
}

// Every width, comparison and sign, against what C++ says of the same numbers.
template <class Number>
void compares(Rank& r, uint64_t word) {
  constexpr bool kSigned = std::is_signed_v<Number>;
  constexpr std::array kNumbers{Number(0), Number(1), Number(-1), std::numeric_limits<Number>::max(),
                                std::numeric_limits<Number>::min()};
  std::atomic_ref<Number> own(*static_cast<Number*>(ompl_ptr(r.rank, word)));
  for (const Number held : kNumbers) {
    own.store(held);
    for (const Number value : kNumbers) {
      const std::array<bool, 6> expected{held == value, held != value, held > value,
                                         held >= value, held < value,  held <= value};
      for (uint32_t i = 0; i < expected.size(); ++i) {
        const ompl_condition condition{.flag_addr = word,
                                       .value = static_cast<uint64_t>(value),
                                       .comparison = (OMPL_EQ + i) | (kSigned ? OMPL_SIGNED : 0),
                                       .width = 8 * sizeof(Number)};
        EXPECT_EQ(ompl_wait_memory(r.ctx(), &condition, 0), expected[i] ? OMPL_OK : OMPL_ERR_TIMEOUT)
            << +held << ' ' << i << ' ' << +value;
      }
    }
  }
}

TEST_P(Conformance, MemoryWaits_CompareAsTheyAreTold) {
  const auto w = world();
  const uint64_t words = w->allocate(64);
  w->run([&](Rank& r) {
    compares<int8_t>(r, words + 3);
    compares<uint8_t>(r, words + 5);
    compares<int16_t>(r, words + 6);
    compares<uint16_t>(r, words + 10);
    compares<int32_t>(r, words + 12);
    compares<uint32_t>(r, words + 16);
    compares<int64_t>(r, words + 24);
    compares<uint64_t>(r, words + 32);
  });
}

// Every thread waits for words that its partner's put, signal, atomic, or store of this rank changes.
TEST_P(Conformance, MemoryWaits_R28_AnySomeAll) {
  OMPL_NOT_UNDER_TSAN();
  constexpr std::size_t kWords = 6;
  const auto w = world();
  const uint64_t words = w->allocate(8 * kWords);
  w->run([&](Rank& r) {
    for (uint64_t i = 1; i <= rounds(40); ++i) {
      std::array<ompl_condition, kWords> conditions{};
      for (std::size_t k = 0; k < kWords; ++k) conditions[k] = at_least(words + 8 * k, i);
      const std::size_t first = i % kWords;
      const auto change = [&](std::size_t k) {
        const uint64_t at = words + 8 * k;
        const ompl_signal set{.flag_addr = at, .value = i, .op = OMPL_SET64};
        if (k % 3 == 0) ok(r.put(&i, r.right(), at, sizeof i));
        if (k % 3 == 1) ok(ompl_ctx_signal(r.ctx(), r.right(), &set, OMPL_FOREVER));
        if (k % 3 == 2)
          ok(ompl_ctx_atomic64(r.ctx(), r.right(), at, OMPL_ATOMIC_ADD, 1, 0, nullptr, OMPL_FOREVER));
      };
      change(first);
      std::size_t which = kWords;
      ok(ompl_wait_memory_any(r.ctx(), conditions.data(), kWords, &which, kPatience));
      EXPECT_EQ(which, first);
      std::array<std::size_t, kWords> found{};
      std::size_t count = 0;
      ok(ompl_wait_memory_some(r.ctx(), conditions.data(), kWords, found.data(), &count, kPatience));
      EXPECT_EQ(count, 1U);
      EXPECT_EQ(found[0], first);
      ok(r.barrier());
      for (std::size_t k = 0; k < kWords; ++k) {
        if (k != first) change(k);
      }
      ok(ompl_wait_memory_all(r.ctx(), conditions.data(), kWords, kPatience));
      ok(r.barrier());
    }
  });
}

// Another thread of the rank stores while this one sleeps.
TEST_P(Conformance, MemoryWaits_R28_SeeStoresOfTheNode) {
  const auto w = world();
  const uint64_t words = w->allocate(16);
  w->run(
      [&](Rank& r) {
        const std::atomic_ref mine(
            *static_cast<uint64_t*>(ompl_ptr(r.rank, words + 8 * uint64_t{r.thread})));
        for (uint64_t i = 1; i <= rounds(60); ++i) {
          const ompl_condition there = at_least(words + 8 * uint64_t{1 - r.thread}, i);
          if (r.thread == 0) mine.store(i);
          ok(ompl_wait_memory(r.ctx(), &there, kPatience));
          if (r.thread == 1) mine.store(i);
        }
      },
      2);
}

TEST_P(Conformance, MemoryWaits_BadArguments) {
  const auto w = world();
  const uint64_t word = w->allocate(8);
  w->run([&](Rank& r) {
    const auto code = [&](ompl_condition condition) {
      return ompl_wait_memory(r.ctx(), &condition, 0);
    };
    EXPECT_EQ(code(at_least(word, 1)), OMPL_ERR_TIMEOUT);
    EXPECT_EQ(code(at_least(word, 1, 24)), OMPL_ERR_ARG);
    EXPECT_EQ(code(at_least(word + 4, 1)), OMPL_ERR_ALIGN);
    EXPECT_EQ(code({.flag_addr = word, .value = 1, .comparison = OMPL_TAKE, .width = 32}),
              OMPL_ERR_ARG);
    EXPECT_EQ(code({.flag_addr = word, .value = 1, .comparison = OMPL_LE + 1, .width = 32}),
              OMPL_ERR_ARG);
    EXPECT_EQ(ompl_wait_memory(r.ctx(), nullptr, 0), OMPL_ERR_ARG);
    const ompl_condition good = at_least(word, 0);
    std::size_t found = 0;
    EXPECT_EQ(ompl_wait_memory_any(r.ctx(), &good, 1, nullptr, 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_wait_memory_some(r.ctx(), &good, 0, &found, &found, 0), OMPL_ERR_ARG);
  });
}

}  // namespace
}  // namespace ompl::conformance
