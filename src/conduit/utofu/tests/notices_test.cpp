// SPDX-License-Identifier: BSD-3-Clause
// Most records of put + flag ask for no notice of their own: what completes them, and what that costs.
#include <atomic>
#include <vector>

#include "conduit/utofu/tests/emulator/emulator.h"
#include "over_utofu.hpp"
#include "pair.hpp"

namespace ompl::conformance {
namespace {

constexpr uint32_t kMost = 40;

uint64_t posts() {
  utofu_emulator_counts now{};
  utofu_emulator_count(&now);
  return now.posts;
}

// Rank 0's, while rank 1 is outside the layer.
template <class Body>
void rank_0_works(Body body) {
  const auto w = utofu_world({.ranks = 2, .endpoints = 1});
  const uint64_t data = w->allocate(kMost * sizeof(uint64_t));
  const uint64_t flag = w->allocate(64);
  std::atomic<const uint64_t*> other{nullptr};
  std::atomic<bool> done{false};
  w->run([&](Rank& r) {
    if (r.rank == 1) {
      ok(r.wait(flag + 4));  // connected
      other = reinterpret_cast<const uint64_t*>(r.own(data));
      while (!done) std::this_thread::yield();
      return;
    }
    ok(r.signal(1, flag + 4));
    while (other == nullptr) std::this_thread::yield();
    const auto put_and_signal = [&](uint64_t value, uint32_t place) {
      ok(r.put(&value, 1, data + place * sizeof value, sizeof value));
      ok(r.signal(1, flag));
    };
    body(r, put_and_signal, data, other.load());
    done = true;
  });
}

TEST(UtofuNotices, AFlushAfterAnyNumberOfSignalsFindsTheDataThere) {
  log::set_level(log::Level::off);
  rank_0_works([](Rank& r, auto put_and_signal, uint64_t /*data*/, const uint64_t* other) {
    for (const uint32_t count : {1U, 2U, 15U, 16U, 17U, 40U}) {
      for (uint32_t i = 0; i < count; ++i) put_and_signal(count * 100 + i, i);
      ok(r.flush());
      for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(other[i], count * 100 + i);
    }
  });
}

TEST(UtofuNotices, AGetBehindSignalsTellsNothingOfThem) {
  log::set_level(log::Level::off);
  rank_0_works([](Rank& r, auto put_and_signal, uint64_t data, const uint64_t* other) {
    put_and_signal(7, 0);
    ok(r.flush());
    for (uint32_t i = 1; i < kMost; ++i) {
      put_and_signal(i, i);
      uint64_t back = 0;
      ok(r.get(&back, 1, data, 8));
      EXPECT_EQ(back, 7U);
      if (i % 3 != 0) continue;
      ok(r.flush());
      EXPECT_EQ(other[i], i);
    }
  });
}

TEST(UtofuNotices, OneInSixteenIsAskedForAndOneMoreWhereSomebodyWaits) {
  log::set_level(log::Level::off);
  const emulator::test::Settings settings;
  settings.change([](utofu_emulator_settings& calm) { calm.delay = calm.spurious_busy = 0; });
  rank_0_works([](Rank& r, auto put_and_signal, uint64_t /*data*/, const uint64_t* /*other*/) {
    put_and_signal(0, 0);
    ok(r.flush());
    for (const uint32_t count : {16U, 3U}) {
      const uint64_t first = posts();
      for (uint32_t i = 0; i < count; ++i) put_and_signal(i, i);
      EXPECT_EQ(posts() - first, 2 * count);
      ok(r.flush());
      EXPECT_EQ(posts() - first, 2 * count + (count % 16 == 0 ? 0 : 1));
    }
  });
}

}  // namespace
}  // namespace ompl::conformance
