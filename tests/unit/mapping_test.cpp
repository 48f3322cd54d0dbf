// SPDX-License-Identifier: BSD-3-Clause
// Segments lie where equal offsets do not meet in a cache's hash, and only what is allocated of them is dumped.
#include "arch/memory/mapping.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <string>

#include "arch/file_turn.hpp"
#include "core/memory/segment.hpp"
#include "util/status.hpp"

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

TEST(MapSegment, TheOwnOneBeginsAtAMultipleThatAlignsOffsets) {
  std::set<uintptr_t> places;
  for (uint32_t rank = 5; rank < 132; ++rank) places.insert(place_of(rank, 4));
  EXPECT_EQ(places.size(), 127U);
  EXPECT_FALSE(places.contains(kOwnPlace));
  Segment segment;
  ASSERT_EQ(segment.create(kLength, 1, false), OMPL_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(segment.base()) % (256U << 20), 0U);
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

// Whether the mapping at that address has the flag (proc(5), smaps).
bool has_flag(const void* address, const std::string& flag) {
  std::ifstream file("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      here = begin <= wanted && wanted < end;
    if (here && line.starts_with("VmFlags:")) return line.find(" " + flag) != std::string::npos;
  }
  ADD_FAILURE() << "no mapping";
  return false;
}

TEST(MapSegment, IsNoPartOfACoreDump) {
  const int fd = ::memfd_create("mapping_test", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(fd, kLength), 0);
  void* base = map_segment(fd, kLength, 0);
  ASSERT_NE(base, MAP_FAILED);
  EXPECT_TRUE(has_flag(base, "dd"));
  EXPECT_EQ(::munmap(base, kLength), 0);
  ::close(fd);
}

TEST(Segment, OnlyWhatIsCommittedIsPartOfACoreDump) {
  Segment segment;
  ASSERT_EQ(segment.create(kLength, 1, false), OMPL_OK) << error_detail();
  constexpr std::size_t kPage = 4096;
  EXPECT_FALSE(has_flag(segment.base(), "dd")) << "the layer's own";
  const uint64_t offset = kFirstOffset + 16 * kPage;
  ASSERT_EQ(segment.commit(offset, 3 * kPage), OMPL_OK);
  EXPECT_FALSE(has_flag(segment.base() + offset + 2 * kPage, "dd"));
  EXPECT_TRUE(has_flag(segment.base() + offset - kPage, "dd"));
  EXPECT_TRUE(has_flag(segment.base() + offset + 3 * kPage, "dd"));
}

// Bytes that the segment has taken from the machine, of which some may not have been written yet.
uint64_t taken(const Segment& segment) {
  struct stat file {};
  return ::fstat(segment.fd(), &file) == 0 ? static_cast<uint64_t>(file.st_blocks) * 512 : 0;
}

TEST(Segment, CommitsWhatIsUsedOfAPart) {
  Segment segment;
  ASSERT_EQ(segment.create(kLength, 1, false), OMPL_OK) << error_detail();
  constexpr std::size_t kPage = 4096;
  const uint64_t before = taken(segment);
  ASSERT_NE(before, 0U);
  const uint64_t offset = kFirstOffset + 16 * kPage;
  ASSERT_EQ(segment.commit_partly(offset, 64 * kPage, 2 * kPage, {}), OMPL_OK);
  EXPECT_EQ(taken(segment), before + 2 * kPage);
  ASSERT_EQ(segment.commit_rest(offset + 8 * kPage, 3 * kPage, {}), OMPL_OK);
  EXPECT_EQ(taken(segment), before + 5 * kPage);
  segment.base()[offset + 8 * kPage] = std::byte{1};
  // The next owner of that memory finds zeros, and all of it committed, as some of it was used.
  ASSERT_EQ(segment.commit_partly(offset, 64 * kPage, 2 * kPage, {}), OMPL_OK);
  EXPECT_EQ(segment.base()[offset + 8 * kPage], std::byte{0});
  EXPECT_EQ(taken(segment), before + 64 * kPage);
}

TEST(Segment, TakesTurnsWhereMemoryIsShort) {
  Segment segment;
  ASSERT_EQ(segment.create(kLength, 1, false), OMPL_OK) << error_detail();
  // So many ranks that half of all memory does not do for each.
  const NodeShare crowd{.ranks = SIZE_MAX / 4, .lock_fd = segment.fd()};
  EXPECT_EQ(segment.commit(kFirstOffset, 4096, crowd), OMPL_OK);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::optional<FileTurn> turn(std::in_place, segment.fd());
  const pid_t child = ::fork();
  if (child == 0) {
    const FileTurn theirs(segment.fd());
    ::_exit(::write(ends[1], "x", 1) == 1 ? 0 : 1);
  }
  pollfd written{.fd = ends[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&written, 1, 100), 0) << "it does not wait for its turn";
  turn.reset();
  EXPECT_EQ(::poll(&written, 1, 120'000), 1);
  int status = 1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(MapSegment, SaysWhyNot) {
  EXPECT_EQ(map_segment(-1, kLength, 0), MAP_FAILED);
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace ompl::arch
