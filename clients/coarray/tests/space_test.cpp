// SPDX-License-Identifier: BSD-3-Clause
// First fit: places are the same on every image, since the same calls give the same places.
#include "core/space.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

using caf::Space;

TEST(Space, FirstFitInTheOrderOfPlaces) {
  Space space;
  EXPECT_EQ(space.take(1), 0U);
  space.add(64, 640);
  space.add(4096, 128);
  EXPECT_EQ(space.take(1), 64U);
  EXPECT_EQ(space.take(65), 128U);  // two units
  EXPECT_EQ(space.take(500), 0U);
  EXPECT_EQ(space.take(448), 256U);
  EXPECT_EQ(space.take(100), 4096U);
  EXPECT_EQ(space.take(1), 0U);
  EXPECT_EQ(space.total(), 64U + 128U + 448U + 128U);
  EXPECT_FALSE(space.give(100)) << "nothing was taken there";
  EXPECT_TRUE(space.give(128));
  EXPECT_FALSE(space.give(128)) << "it was given back before";
  EXPECT_EQ(space.take(128), 128U);
}

TEST(Space, NeighboursAreJoinedWhateverTheOrder) {
  for (const std::vector<uint64_t>& order :
       {std::vector<uint64_t>{64, 128, 192}, {192, 128, 64}, {64, 192, 128}}) {
    Space space;
    space.add(64, 192);
    for (int i = 0; i < 3; ++i) EXPECT_NE(space.take(64), 0U);
    for (const uint64_t place : order) EXPECT_TRUE(space.give(place));
    EXPECT_TRUE(space.empty());
    EXPECT_EQ(space.take(192), 64U);
  }
}

TEST(Space, NoTwoPlacesOverlapAndAllComesBack) {
  Space space;
  space.add(64, 1 << 20);
  std::mt19937 random(7);
  std::map<uint64_t, std::size_t> taken;
  for (int i = 0; i < 20000; ++i) {
    if (!taken.empty() && random() % 2 == 0) {
      auto some = taken.lower_bound(random() % (1 << 20));
      if (some == taken.end()) some = taken.begin();
      EXPECT_TRUE(space.give(some->first));
      taken.erase(some);
      continue;
    }
    const std::size_t bytes = 1 + random() % 5000;
    const uint64_t place = space.take(bytes);
    if (place == 0) continue;
    const auto [here, is_new] = taken.emplace(place, bytes);
    ASSERT_TRUE(is_new);
    if (const auto next = std::next(here); next != taken.end()) {
      EXPECT_LE(place + bytes, next->first);
    }
    if (here != taken.begin()) {
      EXPECT_LE(std::prev(here)->first + std::prev(here)->second, place);
    }
  }
  for (const auto& [place, bytes] : taken) EXPECT_TRUE(space.give(place));
  EXPECT_EQ(space.total(), 0U);
  EXPECT_EQ(space.take(1 << 20), 64U);
}

}  // namespace
