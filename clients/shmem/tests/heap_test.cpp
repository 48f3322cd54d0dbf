// SPDX-License-Identifier: BSD-3-Clause
// The allocator of the symmetric heap against a list of blocks, and the sizes that SHMEM_SYMMETRIC_SIZE takes.
#include "core/heap.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/settings.hpp"

namespace shmem_core {
namespace {

constexpr uint64_t kBegin = 4096;
constexpr std::size_t kLength = 1 << 16;

TEST(Heap, BlocksLieInAPieceAlignedAndApart) {
  Heap heap;
  EXPECT_EQ(heap.take(64, 64), 0U);
  heap.add(kBegin, kLength);
  heap.add(kBegin + kLength, kLength);  // adjacent, and yet no block may lie in both
  std::map<uint64_t, std::size_t> blocks;
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    if (random() % 2 == 0 && !blocks.empty()) {
      const auto chosen = std::next(blocks.begin(), random() % blocks.size());
      heap.give(chosen->first);
      blocks.erase(chosen);
      continue;
    }
    const std::size_t size = 1 + random() % 3000;
    const std::size_t alignment = std::size_t{64} << (random() % 6);
    const uint64_t offset = heap.take(size, alignment);
    if (offset == 0) continue;
    ASSERT_EQ(offset % alignment, 0U);
    ASSERT_GE(heap.length(offset), size);
    const auto after = blocks.upper_bound(offset);
    ASSERT_TRUE(after == blocks.end() || offset + size <= after->first);
    ASSERT_TRUE(after == blocks.begin() ||
                std::prev(after)->first + std::prev(after)->second <= offset);
    const uint64_t piece = (offset - kBegin) / kLength;
    ASSERT_EQ((offset + size - 1 - kBegin) / kLength, piece);
    ASSERT_LT(piece, 2U);
    blocks[offset] = size;
  }
  for (const auto& [offset, size] : blocks) heap.give(offset);
  EXPECT_EQ(heap.used(), 0U);
  for (const auto& [begin, piece] : heap.pieces()) {
    EXPECT_EQ(piece.free.size(), 1U) << "what is free is one";
    EXPECT_EQ(piece.free.begin()->second, kLength);
  }
}

TEST(Heap, SaysWhenAPieceIsFreeAndKeepsWhatIsShrunk) {
  Heap heap;
  heap.add(kBegin, kLength);
  const uint64_t first = heap.take(1000, 64);
  const uint64_t second = heap.take(1000, 64);
  heap.shrink(first, 100);
  EXPECT_EQ(heap.length(first), 128U);
  EXPECT_EQ(heap.take(500, 64), first + 128) << "the end of the block is free again";
  EXPECT_EQ(heap.give(second), 0U);
  EXPECT_EQ(heap.give(first + 128), 0U);
  EXPECT_EQ(heap.give(first), kBegin);
  EXPECT_EQ(heap.length(first), 0U);
  heap.remove(kBegin);
  EXPECT_EQ(heap.total(), 0U);
}

TEST(Settings, SizesAreThoseOfTheSpecification) {
  const std::vector<std::pair<const char*, std::size_t>> sizes = {
      {"20m", 20971520}, {"3.1M", 3250586}, {".5m", 524288},          {"0", 0},
      {"1k", 1024},      {"2G", 2UL << 30}, {"1T", 1UL << 40},        {"20kk", 20480},
      {"4096", 4096},    {"1.5", 2},        {"1 ", 0 /* an error */},
  };
  for (const auto& [text, size] : sizes) {
    std::string error;
    EXPECT_EQ(parse_size(text, &error), size) << text;
    EXPECT_EQ(error.empty(), std::string(text) != "1 ") << text;
  }
  for (const char* text : {"", "m", "-1", "12q", "nan", "inf", "0x10", "1e30"}) {
    std::string error;
    parse_size(text, &error);
    EXPECT_NE(error, "") << text;
  }
}

}  // namespace
}  // namespace shmem_core
