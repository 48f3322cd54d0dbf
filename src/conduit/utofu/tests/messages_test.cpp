// SPDX-License-Identifier: BSD-3-Clause
// Messages under scrambled order, each verified to the last word, by 1, 2, 4 and 8 threads a rank: a put of 8 to 1,024
// bytes, then a signal. A million of them in the long set.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "conduit/utofu/tests/emulator/emulator.h"
#include "over_utofu.hpp"

namespace ompl::conformance {
namespace {

constexpr std::size_t kMost = 1024;  // bytes of a message
constexpr uint32_t kPlaces = 16;     // messages under way to a thread
constexpr uint32_t kAhead = 8;       // of the one that is taken
constexpr uint32_t kRanks = 2;
constexpr uint32_t kRun = 10'000;  // messages of one run, which has a time limit

uint64_t word_of(uint32_t source, unsigned thread, uint32_t number, std::size_t place) {
  return (uint64_t{source} << 56 | uint64_t{thread} << 48 | number) * 0x9E3779B97F4A7C15 + place;
}

// Data on both sides of what travels in a command, of a bounce slot's lines, and of a piece of the emulator's.
std::size_t words_of(uint32_t number) {
  constexpr std::size_t kWords[] = {1, 4, 5, 16, 33, 128, 2, 64};
  return kWords[number % std::size(kWords)];
}

// Every thread of every rank sends so many messages to its namesake on the right. Returns how many arrived whole.
uint64_t exchange(unsigned threads, uint32_t messages) {
  const auto w = utofu_world({.ranks = kRanks, .endpoints = threads});
  const uint64_t data = w->allocate(threads * kPlaces * kMost);
  const uint64_t flags = w->allocate(threads * 64);
  std::atomic<uint64_t> whole{0};
  w->run(
      [&](Rank& r) {
        const uint64_t own = data + r.thread * kPlaces * kMost;
        const uint64_t come = flags + r.thread * 64;
        const uint64_t taken = come + 4;
        uint64_t good = 0;
        uint64_t message[kMost / 8];
        for (uint32_t i = 0; i < messages + kAhead; ++i) {
          if (i < messages) {
            if (i >= kPlaces) ok(r.wait(taken));
            for (std::size_t k = 0; k < words_of(i); ++k) message[k] = word_of(r.rank, r.thread, i, k);
            ok(r.put(message, r.right(), own + i % kPlaces * kMost, words_of(i) * 8));
            ok(r.signal(r.right(), come));
          }
          if (i < kAhead) continue;
          const uint32_t number = i - kAhead;
          ok(r.wait(come));
          const auto* const arrived =
              reinterpret_cast<const uint64_t*>(r.own(own + number % kPlaces * kMost));
          bool all = true;
          for (std::size_t k = 0; k < words_of(number); ++k)
            all = all && arrived[k] == word_of(r.left(), r.thread, number, k);
          good += all ? 1 : 0;
          ok(r.signal(r.left(), taken));
        }
        whole += good;
      },
      threads);
  return whole;
}

class UtofuMessages : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { log::set_level(log::Level::off); }
  static void all_arrive(uint32_t total) {
    utofu_emulator_counts before{};
    utofu_emulator_count(&before);
    uint64_t whole = 0;
    for (uint32_t done = 0; done < total; done += kRun) {
      const uint32_t each = std::min(kRun, total - done) / kRanks / GetParam();
      const uint64_t arrived = exchange(GetParam(), each);
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
