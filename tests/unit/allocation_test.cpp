// SPDX-License-Identifier: BSD-3-Clause
#include "core/memory/allocation.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "core/memory/local_areas.hpp"

namespace ompl {
namespace {

TEST(Extent, CoversNothingOutsideAndNeverOverflows) {
  const Extent extent{.begin = 1000, .length = 24, .generation = 2};
  EXPECT_TRUE(extent.covers(1000, 24, 2));
  EXPECT_TRUE(extent.covers(1020, 4, 2));
  EXPECT_FALSE(extent.covers(999, 1, 2));
  EXPECT_FALSE(extent.covers(1020, 5, 2));
  EXPECT_FALSE(extent.covers(1024, 0, 2));
  EXPECT_FALSE(extent.covers(1000, UINT64_MAX, 2));
  EXPECT_FALSE(extent.covers(UINT64_MAX, 2, 2));
  EXPECT_FALSE(extent.covers(1000, 24, 4)) << "the table changed since";
  EXPECT_FALSE(Extent{}.covers(0, 0, 0)) << "a fresh context knows no allocation";
}

TEST(AllocationTable, FindsWhatContainsAnOffset) {
  AllocationTable table;
  ASSERT_TRUE(table.insert(8192, 100));
  ASSERT_TRUE(table.insert(512, 10));
  ASSERT_TRUE(table.insert(1024, 256));
  Extent found;
  ASSERT_TRUE(table.find(1279, &found));
  EXPECT_EQ(found.begin, 1024U);
  EXPECT_EQ(found.length, 256U);
  EXPECT_FALSE(table.find(1280, &found));
  EXPECT_FALSE(table.find(0, &found));
  EXPECT_FALSE(table.find(511, &found));
  table.erase(1024);
  table.erase(2000);  // not there
  EXPECT_FALSE(table.find(1024, &found));
  EXPECT_TRUE(table.find(8192 + 99, &found));
  EXPECT_TRUE(table.find(512, &found));
}

TEST(AllocationTable, ReadersNeverSeeAHalfMadeChange) {
  AllocationTable table;
  for (uint64_t i = 1; i <= 64; ++i) ASSERT_TRUE(table.insert(i * 1000, 500));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&table, &stop, &wrong] {
      Extent found;
      while (!stop.load()) {
        // 32 and 33 are never touched by the writer, but are moved about by it.
        if (!table.find(32'123, &found) || found.begin != 32'000 || found.length != 500) ++wrong;
        if (!table.find(33'499, &found) || found.begin != 33'000 || found.length != 500) ++wrong;
      }
    });
  }
  for (uint64_t round = 0; round < 2000; ++round) {
    table.erase(1000 + round % 20 * 1000);
    ASSERT_TRUE(table.insert(1000 + round % 20 * 1000, 500));
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0U);
}

// A record from a network must find its flag whatever else is allocated meanwhile.
TEST(AllocationTable, HoldsWhatStaysWhileOthersComeAndGo) {
  AllocationTable table;
  ASSERT_TRUE(table.insert(512, 64));
  std::atomic<bool> stop{false};
  std::thread writer([&table, &stop] {
    while (!stop.load()) {
      EXPECT_TRUE(table.insert(4096, 3000));
      table.erase(4096);
    }
  });
  Extent last;
  uint64_t missed = 0;
  while (table.generation().load() < 4'000'000) missed += table.holds(512 + 8, 4, &last) ? 0 : 1;
  stop.store(true);
  writer.join();
  EXPECT_EQ(missed, 0U);
  EXPECT_FALSE(table.holds(512 + 62, 4, &last));
  EXPECT_FALSE(table.holds(8192, 4, &last));
}

TEST(OffsetAllocator, GivesMultiplesOf256AndReusesWhatIsFreed) {
  OffsetAllocator allocator(8192, 8192 + 1024);
  const uint64_t a = allocator.allocate(1);
  const uint64_t b = allocator.allocate(257);
  EXPECT_EQ(a, 8192U);
  EXPECT_EQ(b, 8192U + 256);
  EXPECT_EQ(allocator.allocate(257), 0U) << "256 bytes are left";
  EXPECT_EQ(allocator.allocate(SIZE_MAX), 0U);
  allocator.free(a, 1);
  allocator.free(b, 257);
  EXPECT_EQ(allocator.allocate(1024), 8192U) << "the holes did not join";
}

// Two ranks that make the same calls must get the same offsets, and no two allocations may overlap.
TEST(OffsetAllocator, IsTheSameEverywhereAndNeverOverlaps) {
  OffsetAllocator one(8192, 1 << 20);
  OffsetAllocator two(8192, 1 << 20);
  std::mt19937 random(7);
  std::vector<std::pair<uint64_t, std::size_t>> live;
  for (int step = 0; step < 5000; ++step) {
    if (live.empty() || random() % 3 != 0) {
      const std::size_t size = 1 + random() % 5000;
      const uint64_t offset = one.allocate(size);
      ASSERT_EQ(two.allocate(size), offset);
      if (offset == 0) continue;
      for (const auto& [begin, length] : live) {
        ASSERT_TRUE(offset + size <= begin || begin + length <= offset) << "step " << step;
      }
      live.emplace_back(offset, size);
    } else {
      const std::size_t victim = random() % live.size();
      one.free(live[victim].first, live[victim].second);
      two.free(live[victim].first, live[victim].second);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
    }
  }
  EXPECT_FALSE(live.empty());
}

TEST(OffsetAllocator, GivesFromALowestOffsetOnAndMergesWhatComesBack) {
  OffsetAllocator allocator(256, 256 + 16 * 256);
  EXPECT_EQ(allocator.end(), 0U);
  EXPECT_EQ(allocator.allocate(512, 1024), 1024U) << "in the middle of the hole";
  EXPECT_EQ(allocator.end(), 1536U);
  EXPECT_EQ(allocator.allocate(1024), 1536U) << "what is before is too short";
  EXPECT_EQ(allocator.allocate(768), 256U);
  EXPECT_EQ(allocator.allocate(256, 4096), 4096U) << "the end of the hole";
  EXPECT_EQ(allocator.allocate(256, 4096), 0U);
  allocator.free(4096, 256);
  allocator.free(1024, 512);
  allocator.free(1536, 1024);
  EXPECT_EQ(allocator.end(), 1024U);
  allocator.free(256, 768);
  EXPECT_EQ(allocator.end(), 0U);
  EXPECT_EQ(allocator.allocate(16 * 256), 256U) << "one hole again";
}

TEST(LocalAreas, GrowDownwardsInGranules) {
  LocalAreas areas(100'000, 8192);  // the last multiple is 98,304
  EXPECT_EQ(areas.lowest(), 100'000U);
  Area* const first = areas.take(AreaKind::local, 100, 0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->begin, 98'304U - 8192);
  Area* const second = areas.take(AreaKind::adopted, 8193, 0);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->begin, first->begin - 2 * 8192);
  Area* const below = areas.take(AreaKind::team, 8192, 0, 40'000);
  ASSERT_NE(below, nullptr);
  EXPECT_EQ(below->begin, 32'768U) << "the first multiple at or below";
  EXPECT_EQ(areas.lowest(), 32'768U);
  EXPECT_EQ(areas.find(32'768 + 8191), below);
  EXPECT_EQ(areas.find(second->begin + 8193), nullptr) << "only what may be used";
  EXPECT_EQ(areas.take(AreaKind::local, 8192, 70'000, 60'000), nullptr) << "nothing above the floor";
  EXPECT_EQ(areas.take(AreaKind::local, 200'000, 0), nullptr);
  areas.give_back(*first);
  EXPECT_EQ(areas.take(AreaKind::local, 8192, 90'000)->begin, 98'304U - 8192) << "free again";
}

TEST(LocalAreas, SmallAllocationsShareAreas) {
  LocalAreas areas(1 << 20, 4096);
  Area* area = nullptr;
  EXPECT_EQ(areas.take_small(10, &area), 0U) << "there is none";
  Area* const small = areas.take(AreaKind::small, 4096, 0);
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(areas.small_areas(), 1U);
  for (uint32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(areas.take_small(200, &area), small->begin + uint64_t{i} * 256);
    EXPECT_EQ(area, small);
  }
  EXPECT_EQ(areas.take_small(1, &area), 0U);
  EXPECT_EQ(small->used, 16U);
  areas.give_back(*small);
  EXPECT_EQ(areas.small_areas(), 0U);
}

}  // namespace
}  // namespace ompl
