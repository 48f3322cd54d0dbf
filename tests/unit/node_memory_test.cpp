// SPDX-License-Identifier: BSD-3-Clause
// What ranks of a node share from the start: who joins, where segments lie in the files of several, and what the table tells.
#include "core/memory/node_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

#include "arch/life_lock.hpp"
#include "arch/memory/mapping.hpp"
#include "arch/process_files.hpp"
#include "bootstrap/thread_bootstrap.hpp"
#include "core/memory/segment.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

constexpr std::size_t kCapacity = std::size_t{16} << 20;
constexpr std::string_view kHost = "here";

using Rank = std::function<void(bootstrap::Bootstrap&, NodeMemory&)>;

// Each rank joins and does `what`, all at once; the memory is given back when all have done so.
void job(std::vector<uint32_t> nodes, uint32_t size, const Rank& what) {
  const bootstrap::ThreadJob threads(size, std::move(nodes));
  std::vector<std::thread> ranks;
  for (uint32_t rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto bootstrap = threads.join(rank);
      NodeMemory memory;
      what(*bootstrap, memory);
      EXPECT_EQ(bootstrap->fence(), OMPL_OK);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

// Tells the others of this rank, and returns when all have done so.
void publish(bootstrap::Bootstrap& bootstrap, NodeMemory& memory) {
  std::array<uint64_t, kCoreWords> cores{};
  cores[0] = bootstrap.rank() + 1;
  memory.publish("card " + std::to_string(bootstrap.rank()), cores);
  EXPECT_EQ(bootstrap.fence(), OMPL_OK);
}

TEST(NodeMemory, SegmentsOfSixteenRanksLieInAFile) {
  constexpr uint32_t kRanks = 18;
  std::vector<SegmentPlace> places(kRanks);
  std::vector<uint64_t> files(kRanks);
  job({}, kRanks, [&](bootstrap::Bootstrap& bootstrap, NodeMemory& memory) {
    ASSERT_EQ(memory.join(bootstrap, std::string(kHost), kCapacity, true), OMPL_OK);
    const SegmentPlace place = memory.take_place();
    ASSERT_GE(place.fd, 0);
    places[bootstrap.rank()] = place;
    files[bootstrap.rank()] = arch::inode_of(place.fd);
    EXPECT_EQ(::lseek(place.fd, 0, SEEK_END), static_cast<off_t>(place.length));
    EXPECT_LT(memory.take_place().fd, 0) << "given away twice";
    EXPECT_EQ(bootstrap.fence(), OMPL_OK);
    ::close(place.fd);
  });
  const std::size_t stride = arch::segment_stride(kCapacity);
  EXPECT_GE(stride, kCapacity);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const uint32_t first = rank / 16 * 16;
    EXPECT_EQ(files[rank], files[first]) << rank;
    EXPECT_EQ(places[rank].first, first);
    EXPECT_EQ(places[rank].offset, (rank - first) * stride);
    EXPECT_EQ(places[rank].length, (first == 0 ? 16 : 2) * stride);
  }
  EXPECT_NE(files[0], files[16]);
}

TEST(NodeMemory, TheTableTellsOfTheRanksOfTheNode) {
  job({0, 1, 0, 1, 0}, 5, [&](bootstrap::Bootstrap& bootstrap, NodeMemory& memory) {
    const bool even = bootstrap.rank() % 2 == 0;
    const std::string host = "node " + std::to_string(bootstrap.rank() % 2);
    ASSERT_EQ(memory.join(bootstrap, host, kCapacity, true), OMPL_OK);
    EXPECT_FALSE(memory.joined());
    EXPECT_EQ(memory.totals(), nullptr);
    publish(bootstrap, memory);
    EXPECT_TRUE(memory.joined());
    memory.totals()->threads.fetch_add(1);
    EXPECT_EQ(bootstrap.fence(), OMPL_OK);
    memory.settle();
    EXPECT_EQ(memory.totals()->threads.load(), even ? 3U : 2U);
    for (uint32_t rank = 0; rank < 5; ++rank) {
      std::string card;
      const bool here = rank % 2 == bootstrap.rank() % 2;
      EXPECT_EQ(memory.has(rank), here) << rank;
      EXPECT_EQ(memory.read(rank, &card), here);
      EXPECT_EQ(card, here ? "card " + std::to_string(rank) : "");
      EXPECT_EQ(here ? memory.entry(rank)->cores[0] : 0, here ? rank + 1 : 0);
    }
    EXPECT_FALSE(memory.has(5));
  });
}

TEST(NodeMemory, WhoCannotUseItDoesWithout) {
  // Another host, another size of segments, no use for it, and a segment that was made elsewhere.
  job({}, 6, [&](bootstrap::Bootstrap& bootstrap, NodeMemory& memory) {
    const uint32_t rank = bootstrap.rank();
    const std::string host(rank == 1 ? "elsewhere" : kHost);
    ASSERT_EQ(memory.join(bootstrap, host, rank == 2 ? kCapacity * 2 : kCapacity, rank != 3), OMPL_OK);
    if (rank == 4) memory.give_up();
    publish(bootstrap, memory);
    EXPECT_EQ(memory.joined(), rank == 0 || rank == 5) << rank;
    for (uint32_t other = 0; memory.joined() && other < 6; ++other)
      EXPECT_EQ(memory.has(other), other == 0 || other == 5) << other;
  });
}

TEST(NodeMemory, ACardThatIsTooLongIsNotTaken) {
  job({}, 2, [&](bootstrap::Bootstrap& bootstrap, NodeMemory& memory) {
    ASSERT_EQ(memory.join(bootstrap, std::string(kHost), kCapacity, true), OMPL_OK);
    const std::array<uint64_t, kCoreWords> cores{};
    EXPECT_FALSE(memory.publish(std::string(sizeof(NodeEntry::card) + 1, 'x'), cores));
    EXPECT_FALSE(memory.joined());
    EXPECT_TRUE(memory.publish(std::string(sizeof(NodeEntry::card), 'x'), cores));
  });
}

TEST(NodeMemory, IsNotMadeForARankAloneOrBySegmentsWithoutEnd) {
  job({0, 1}, 2, [&](bootstrap::Bootstrap& bootstrap, NodeMemory& memory) {
    ASSERT_EQ(memory.join(bootstrap, std::string(kHost), kCapacity, true), OMPL_OK);
    EXPECT_LT(memory.take_place().fd, 0);
  });
  job({}, 2, [&](bootstrap::Bootstrap& bootstrap, NodeMemory& memory) {
    ASSERT_EQ(memory.join(bootstrap, std::string(kHost), std::size_t{1} << 60, true), OMPL_OK);
    EXPECT_LT(memory.take_place().fd, 0);
  });
}

TEST(Segment, SharesAFileWithOthers) {
  const std::size_t stride = arch::segment_stride(kCapacity);
  const int fd = ::memfd_create("node_memory_test", MFD_CLOEXEC);
  ASSERT_EQ(::ftruncate(fd, static_cast<off_t>(3 * stride)), 0);
  Segment segment;
  const SegmentPlace place{.fd = ::dup(fd), .offset = stride, .length = 3 * stride, .first = 0};
  ASSERT_EQ(segment.create(kCapacity, 42, false, place), OMPL_OK) << error_detail();
  ASSERT_EQ(segment.commit(kFirstOffset, 4096), OMPL_OK);
  segment.base()[kFirstOffset] = std::byte{7};
  uint64_t nonce = 0;
  char written = 0;
  EXPECT_EQ(::pread(fd, &nonce, sizeof nonce, static_cast<off_t>(stride + conduit::kNonceOffset)), 8);
  EXPECT_EQ(::pread(fd, &written, 1, static_cast<off_t>(stride + kFirstOffset)), 1);
  EXPECT_EQ(nonce, 42U);
  EXPECT_EQ(written, 7);
  // The others' parts are mapped beside it, and not a page of them is taken.
  EXPECT_EQ(static_cast<int>(segment.base()[stride]), 0);
  EXPECT_EQ(::lseek(fd, 0, SEEK_DATA), static_cast<off_t>(stride)) << "the first rank's part is used";
  unsigned char resident = 0;
  std::byte* const end = segment.base() + 2 * stride;
  segment.destroy();
  EXPECT_NE(::mincore(end - 4096, 4096, &resident), 0) << "the file is still mapped";
  ::close(fd);
}

}  // namespace
}  // namespace ompl
