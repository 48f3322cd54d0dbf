// SPDX-License-Identifier: BSD-3-Clause
// Long puts in segments over the TNIs, and the same switched off.
#include <algorithm>
#include <vector>

#include "conduit/utofu/tests/emulator/emulator.h"
#include "conformance/long_put.hpp"
#include "over_utofu.hpp"

namespace ompl::conformance {
namespace {

constexpr std::size_t kSegment = std::size_t{64} << 10;
constexpr std::size_t kLength = std::size_t{3} << 20;

std::unique_ptr<Fabric> tuned(unsigned stripes) {
  return over_utofu([stripes](uint32_t /*rank*/, Settings* settings) {
    settings->utofu_stripe = stripes;
    settings->utofu_segment = kSegment;
  });
}

struct Seen {
  uint64_t tnis = 0;            // that carried data
  uint64_t least = UINT64_MAX;  // puts by one of them
  uint64_t puts = 0;
  uint64_t bytes = 0;
};

Seen difference(const utofu_emulator_counts& before, const utofu_emulator_counts& after) {
  Seen seen;
  for (int tni = 0; tni < UTOFU_EMULATOR_TNIS; ++tni) {
    const uint64_t puts = after.puts[tni] - before.puts[tni];
    if (puts == 0) continue;
    ++seen.tnis;
    seen.least = std::min(seen.least, puts);
    seen.puts += puts;
    seen.bytes += after.bytes[tni] - before.bytes[tni];
  }
  return seen;
}

utofu_emulator_counts count() {
  utofu_emulator_counts now{};
  utofu_emulator_count(&now);
  return now;
}

// The puts of a long one, from the segment or from memory of its own.
Seen put_long(unsigned stripes, unsigned endpoints, std::size_t length, bool own_memory = false) {
  log::set_level(log::Level::off);
  ThreadWorld w(tuned(stripes), {.ranks = 2, .endpoints = endpoints});
  utofu_emulator_counts before{};
  Seen seen;
  conformance::put_long(
      w, length, own_memory, put_then_signal, [&] { before = count(); },
      [&] { seen = difference(before, count()); });
  return seen;
}

TEST(UtofuStripes, ALongPutGoesOverEveryTni) {
  for (const bool own_memory : {false, true}) {
    const Seen seen = put_long(6, 6, kLength, own_memory);
    EXPECT_EQ(seen.tnis, 6U);
    EXPECT_GE(seen.least, 2U);
    EXPECT_EQ(seen.puts, kLength / kSegment);
    EXPECT_EQ(seen.bytes, kLength);
  }
}

TEST(UtofuStripes, AsManyAsTheSettingAndThePoolAllow) {
  EXPECT_EQ(put_long(2, 6, kLength).tnis, 2U);
  EXPECT_EQ(put_long(6, 3, kLength).tnis, 3U);
  const Seen alone = put_long(6, 1, kLength);
  EXPECT_EQ(alone.tnis, 1U);
  EXPECT_EQ(alone.puts, kLength / kSegment);
}

TEST(UtofuStripes, SwitchedOffItIsOnePut) {
  const Seen seen = put_long(0, 6, kLength);
  EXPECT_EQ(seen.puts, 1U);
  EXPECT_EQ(seen.bytes, kLength);
}

TEST(UtofuStripes, APutBelowFourSegmentsIsOnePut) {
  EXPECT_EQ(put_long(6, 6, 4 * kSegment - 1).puts, 1U);
  EXPECT_EQ(put_long(6, 6, 4 * kSegment).puts, 4U);
}

}  // namespace
}  // namespace ompl::conformance
