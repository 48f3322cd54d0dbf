// SPDX-License-Identifier: BSD-3-Clause
// Segments lie where equal offsets do not meet in a cache's hash.
#include "arch/mapping.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <set>

namespace ompl::arch {
namespace {

constexpr std::size_t kLength = std::size_t{1} << 30;

TEST(MapSegment, RanksDifferInTheBitsThatTheCacheHashes) {
  const int fd = ::memfd_create("mapping_test", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(fd, kLength), 0);
  std::set<uintptr_t> places;
  std::vector<void*> mapped;
  for (uint32_t rank = 1000; rank < 1128; ++rank) {
    void* base = map_segment(fd, kLength, rank);
    ASSERT_NE(base, MAP_FAILED);
    mapped.push_back(base);
    places.insert(reinterpret_cast<uintptr_t>(base) >> 21 & 127);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(base) % (2 << 20), 0U) << "no huge pages here";
  }
  EXPECT_EQ(places.size(), mapped.size());

  *static_cast<int*>(mapped[0]) = 42;
  EXPECT_EQ(*static_cast<int*>(mapped[127]), 42);
  static_cast<char*>(mapped[5])[kLength - 1] = 7;
  EXPECT_EQ(static_cast<char*>(mapped[6])[kLength - 1], 7);
  for (void* base : mapped) EXPECT_EQ(::munmap(base, kLength), 0);
  ::close(fd);
}

TEST(MapSegment, GivesBackWhatItReservedAround) {
  const int fd = ::memfd_create("mapping_test", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(fd, kLength), 0);
  auto* base = static_cast<char*>(map_segment(fd, kLength, 3));
  ASSERT_NE(base, MAP_FAILED);
  unsigned char resident = 0;
  EXPECT_NE(::mincore(base + kLength, 4096, &resident), 0) << "the page behind is still mapped";
  EXPECT_EQ(::munmap(base, kLength), 0);
  ::close(fd);
}

TEST(MapSegment, SaysWhyNot) {
  EXPECT_EQ(map_segment(-1, kLength, 0), MAP_FAILED);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace ompl::arch
