// SPDX-License-Identifier: BSD-3-Clause
// Memory that one rank allocates alone: what others may do with it, and what is checked.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "conformance/conformance.hpp"
#include "omnipgas/ompl_memory.h"

namespace ompl::conformance {
namespace {

uint64_t allocate_local(std::size_t size) {
  uint64_t offset = 0;
  ok(ompl_alloc_local(size, &offset));
  return offset;
}

// Offsets of all ranks, by rank: each puts its own into `told` of every rank. Collective.
std::vector<uint64_t> tell_all(Rank& r, uint64_t told, uint64_t mine) {
  for (uint32_t target = 0; target < r.size; ++target)
    ok(r.put(&mine, target, told + r.rank * sizeof mine, sizeof mine));
  ok(r.barrier());
  std::vector<uint64_t> all(r.size);
  std::memcpy(all.data(), r.own(told), all.size() * sizeof all[0]);
  ok(r.barrier());
  return all;
}

// Ranks allocate different sizes, and so have different offsets; some more than one area.
TEST_P(Conformance, LocalMemory_OthersPutGetSignalAndUseAtomicsThere) {
  const auto w = world({.ranks = 3, .endpoints = 2});
  const uint64_t told = w->allocate(3 * sizeof(uint64_t));
  w->run([&](Rank& r) {
    for (uint32_t round = 0; round < rounds(12); ++round) {
      const std::size_t size = std::array<std::size_t, 4>{600, 20'000, 300'000, 3'000'000}[round % 4];
      allocate_local(100 + 70'000 * ((r.rank + round) % 3));  // stays, and moves what comes
      const uint64_t mine = allocate_local(size + 16);
      EXPECT_EQ(mine % 256, 0U);
      EXPECT_TRUE(std::all_of(r.own(mine), r.own(mine) + size + 16,
                              [](std::byte byte) { return byte == std::byte{0}; }));
      const std::vector<uint64_t> all = tell_all(r, told, mine);
      const uint64_t theirs = all[r.right()];
      const auto data = pattern(size, 100 * round + r.rank);
      ok(r.put(data.data(), r.right(), theirs + 16, size));
      ok(r.signal(r.right(), theirs));
      ok(r.wait(mine));
      EXPECT_EQ(mismatch(r.own(mine) + 16, size, 100 * round + r.left()), size);
      uint64_t before = 1;
      ok(ompl_fetch_add64(r.right(), theirs + 8, 5, &before));
      EXPECT_EQ(before, 0U);
      std::vector<std::byte> back(size);
      ok(r.get(back.data(), r.right(), theirs + 16, size));
      EXPECT_EQ(mismatch(back.data(), size, 100 * round + r.rank), size);
      ok(r.barrier());  // nobody looks at the data any more
      ok(r.put_signal(data.data() + 1, r.right(), theirs + 17, 1, theirs));
      ok(r.wait(mine));
      ok(r.barrier());
      ok(ompl_free_local(mine));
    }
  });
}

// From local memory to local memory, as the source and the target of long transfers.
TEST_P(Conformance, LocalMemory_IsASourceAndATargetOfTransfers) {
  const auto w = world();
  const uint64_t told = w->allocate(2 * sizeof(uint64_t));
  w->run([&](Rank& r) {
    constexpr std::size_t kSize = 700'001;
    const uint64_t from = allocate_local(kSize);
    const uint64_t into = allocate_local(kSize);
    const auto data = pattern(kSize, r.rank);
    std::memcpy(r.own(from), data.data(), kSize);
    const std::vector<uint64_t> all = tell_all(r, told, into);
    ok(r.put(r.own(from), r.right(), all[r.right()], kSize));
    ok(r.barrier());
    EXPECT_EQ(mismatch(r.own(into), kSize, r.left()), kSize);
    std::memset(r.own(from), 0, kSize);
    ok(r.get(r.own(from), r.right(), all[r.right()], kSize));
    EXPECT_EQ(mismatch(r.own(from), kSize, r.rank), kSize);
    ok(r.barrier());
  });
}

// A word of 4 bytes at one offset after another: freed, allocated again in other sizes, told, put to.
TEST_P(Conformance, LocalMemory_OffsetsAreUsedAgainInOtherSizes) {
  const auto w = world();
  const uint64_t told = w->allocate(2 * sizeof(uint64_t));
  w->run([&](Rank& r) {
    for (uint32_t round = 0; round < rounds(24); ++round) {
      const std::size_t size = 70'000 + (round * 7919 % 5) * 900'000 * (1 + r.rank % 2);
      const uint64_t mine = allocate_local(size);
      const std::vector<uint64_t> all = tell_all(r, told, mine);
      const auto data = pattern(70'000, round);
      ok(r.put(data.data(), r.right(), all[r.right()], data.size()));
      ok(r.barrier());
      EXPECT_EQ(mismatch(r.own(mine), data.size(), round), data.size());
      ok(ompl_free_local(mine));
      ok(r.barrier());
    }
  });
}

TEST_P(Conformance, LocalMemory_ChecksStayUntilTheProgramAccepts) {
  const auto w = world();
  const uint64_t told = w->allocate(2 * sizeof(uint64_t));
  const uint64_t flag = w->allocate(8);
  w->run([&](Rank& r) {
    const uint64_t value = 1;
    uint64_t before = 0;
    // Rank 0 allocates; the last one has called nothing of the kind.
    const uint64_t mine = r.rank == 0 ? allocate_local(64) : 0;
    const uint64_t theirs = tell_all(r, told, mine)[0];
    if (r.rank == r.size - 1 && r.size > 1) {
      EXPECT_EQ(r.put(&value, 0, theirs, 8), OMPL_ERR_OFFSET);
      EXPECT_EQ(r.signal(0, theirs), OMPL_ERR_OFFSET);
      EXPECT_EQ(ompl_fetch_add64(0, theirs, 1, &before), OMPL_ERR_OFFSET);
      EXPECT_EQ(r.pointer(0, theirs), nullptr);
      ok(ompl_accept_local());
      ok(r.put(&value, 0, theirs, 8));
      ok(r.quiet());
      ok(ompl_fetch_add64(0, theirs, 1, &before));
      EXPECT_EQ(before, 1U);
    }
    ok(ompl_accept_local());
    // Own offsets and those of all ranks are still checked.
    EXPECT_EQ(r.put(&value, r.rank, flag + 4, 8), OMPL_ERR_LENGTH);
    EXPECT_EQ(r.put(&value, r.right(), 64, 8), OMPL_ERR_OFFSET);
    EXPECT_EQ(r.signal(r.right(), flag + 2), OMPL_ERR_ALIGN);
    if (r.rank != 0) {
      EXPECT_EQ(r.put(&value, r.rank, theirs, 8), OMPL_ERR_OFFSET);
    }
    if (r.rank == 0) {
      EXPECT_EQ(r.put(&value, 0, theirs + 60, 8), OMPL_ERR_LENGTH);
    }
    const uint64_t end = uint64_t{64} << 20;  // of the segment
    if (r.size > 1) {
      EXPECT_NE(r.put(&value, r.right(), end - 4, 8), OMPL_OK);
    }
    ok(r.barrier());
  });
}

// What travels is checked where it arrives; what was freed is not changed.
TEST_P(Conformance, LocalMemory_TheTargetRefusesAtomicsOnWhatIsNotAllocated) {
  const auto w = world();
  const uint64_t told = w->allocate(2 * sizeof(uint64_t));
  w->run([&](Rank& r) {
    const uint64_t kept = allocate_local(64);
    const uint64_t freed = allocate_local(64);
    ok(ompl_free_local(freed));
    const std::vector<uint64_t> all = tell_all(r, told, freed);
    const std::vector<uint64_t> good = tell_all(r, told, kept);
    if (r.size > 1 && r.pointer(r.right(), told) == nullptr) {
      uint64_t before = 42;
      EXPECT_EQ(ompl_fetch_add64(r.right(), all[r.right()], 1, &before), OMPL_ERR_OFFSET);
      EXPECT_EQ(before, 42U);
      ok(r.signal(r.right(), all[r.right()]));
      ok(r.quiet());
    }
    uint64_t before = 42;
    ok(ompl_fetch_add64(r.right(), good[r.right()], 1, &before));
    EXPECT_EQ(before, 0U) << "and the connection goes on";
    ok(r.barrier());
    EXPECT_EQ(r.count(allocate_local(64)), 0U);
  });
}

TEST_P(Conformance, LocalMemory_RefusesWhatItCannotGiveOrWasNotGiven) {
  world()->run([](Rank& r) {
    uint64_t offset = 42;
    EXPECT_EQ(ompl_alloc_local(std::size_t{1} << 40, &offset), OMPL_ERR_MEMORY);
    EXPECT_EQ(ompl_alloc_local(std::numeric_limits<std::size_t>::max(), &offset), OMPL_ERR_MEMORY);
    EXPECT_EQ(ompl_alloc_local(0, &offset), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_alloc_local(8, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(offset, 42U) << "outputs are set on success only";
    const uint64_t symmetric = r.allocate(64);
    EXPECT_EQ(ompl_free_local(symmetric), OMPL_ERR_OFFSET);
    const uint64_t small = allocate_local(512);
    const uint64_t large = allocate_local(500'000);
    for (const uint64_t mine : {small, large}) {
      EXPECT_EQ(ompl_free_local(mine + 256), OMPL_ERR_OFFSET);
      ok(ompl_free_local(mine));
      EXPECT_EQ(ompl_free_local(mine), OMPL_ERR_OFFSET);
    }
    ok(r.barrier());
  });
}

// Both kinds fill the segment from its two ends, and what one gives back the other may take.
TEST_P(Conformance, LocalMemory_SharesTheSegmentWithAllocationsOfAll) {
  world()->run([](Rank& r) {
    constexpr std::size_t kHalf = std::size_t{34} << 20;  // more than half
    const uint64_t mine = r.rank == 0 ? allocate_local(kHalf) : 0;
    uint64_t offset = 0;
    ok(r.barrier());
    EXPECT_EQ(r.alloc(kHalf, &offset), OMPL_ERR_MEMORY) << "one rank has no room";
    if (r.rank == 0) ok(ompl_free_local(mine));
    ok(r.alloc(kHalf, &offset));
    EXPECT_TRUE(std::all_of(r.own(offset), r.own(offset) + kHalf,
                            [](std::byte byte) { return byte == std::byte{0}; }));
    uint64_t none = 0;
    EXPECT_EQ(ompl_alloc_local(kHalf, &none), OMPL_ERR_MEMORY);
    ok(r.free(offset));
    const uint64_t again = allocate_local(kHalf);
    std::memset(r.own(again), 1, kHalf);
    ok(ompl_free_local(again));
    ok(r.barrier());
    const uint64_t all = r.allocate(kHalf);
    EXPECT_TRUE(std::all_of(r.own(all), r.own(all) + kHalf,
                            [](std::byte byte) { return byte == std::byte{0}; }));
    ok(r.free(all));
  });
}

// Some threads allocate, write, check and free while others put to local memory of the right neighbour, and one rank's first
// threads allocate with all others.
TEST_P(Conformance, LocalMemory_ThreadsAllocateAndFreeWhileOthersPut) {
  constexpr unsigned kThreads = 4;
  const auto w = world({.endpoints = 2});
  const uint64_t told = w->allocate(2 * sizeof(uint64_t));
  w->run([&](Rank& r) { tell_all(r, told, allocate_local(8192)); });
  w->run(
      [&](Rank& r) {
        std::vector<uint64_t> offsets(r.size);
        std::memcpy(offsets.data(), r.own(told), offsets.size() * sizeof offsets[0]);
        for (uint32_t i = 0; i < rounds(60); ++i) {
          if (r.thread == 0) {
            if (i % 8 == 0) {
              const uint64_t all = r.allocate(5000);
              ok(r.free(all));
            }
          } else if (r.thread == 1) {
            const auto data = pattern(4000, i);
            ok(r.put(data.data(), r.right(), offsets[r.right()], data.size()));
            std::vector<std::byte> back(data.size());
            ok(r.flush());
            ok(r.get(back.data(), r.right(), offsets[r.right()], back.size()));
            EXPECT_EQ(mismatch(back.data(), back.size(), i), back.size());
          } else {
            const std::size_t size = 100 + (i * 7919 + r.thread * 1000) % 100'000;
            const uint64_t mine = allocate_local(size);
            std::byte* const bytes = r.own(mine);
            ASSERT_NE(bytes, nullptr);
            EXPECT_EQ(std::count(bytes, bytes + size, std::byte{0}), static_cast<std::ptrdiff_t>(size));
            std::memset(bytes, static_cast<int>(r.thread), size);
            EXPECT_EQ(std::count(bytes, bytes + size, static_cast<std::byte>(r.thread)),
                      static_cast<std::ptrdiff_t>(size));
            ok(ompl_free_local(mine));
          }
        }
      },
      kThreads);
}

}  // namespace
}  // namespace ompl::conformance
