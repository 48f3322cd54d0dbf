// SPDX-License-Identifier: BSD-3-Clause
// Barrier, alloc, free, and the checks of addresses before anything is written.
#include <cstring>
#include <limits>

#include "conformance/conformance.hpp"
#include "omnipgas/ompl_memory.h"

namespace ompl::conformance {
namespace {

TEST_P(Conformance, Barrier_NobodyLeavesBeforeAllHaveCome) {
  for (const uint32_t ranks : {2U, 3U, 5U}) {
    SCOPED_TRACE(ranks);
    world({.ranks = ranks})->run([](Rank& r) {
      // Two sets in turn: a quick rank writes the next round while a slow one still reads this one.
      const uint64_t seen = r.allocate(2 * r.size * sizeof(uint64_t));
      for (uint64_t i = 1; i <= rounds(100); ++i) {
        const uint64_t set = seen + (i % 2) * r.size * sizeof(uint64_t);
        for (uint32_t target = 0; target < r.size; ++target)
          ok(r.put(&i, target, set + r.rank * sizeof i, sizeof i));
        ok(r.barrier());
        for (uint32_t source = 0; source < r.size; ++source) {
          uint64_t value = 0;
          std::memcpy(&value, r.own(set + source * sizeof value), sizeof value);
          EXPECT_EQ(value, i) << "of rank " << source;
        }
      }
    });
  }
}

TEST_P(Conformance, Barrier_R5_CompletesTheContextsOwnSignals) {
  world({.ranks = 3})->run([](Rank& r) {
    const uint64_t flag = r.allocate(4);
    for (uint32_t i = 1; i <= rounds(100); ++i) {
      for (uint32_t k = 0; k < 5; ++k) ok(r.signal(r.right(), flag));
      ok(r.barrier());
      EXPECT_GE(r.count(flag), 5 * i);
      EXPECT_LE(r.count(flag), 5 * (i + 1)) << "at most one round ahead";
    }
  });
}

// A repeated call goes on with it, any other collective call finishes it first.
TEST_P(Conformance, Barrier_R9_OneThatTimedOutIsGoneOnWith) {
  world()->run([](Rank& r) {
    const uint64_t flag = r.allocate(8);
    for (const int64_t timeout_ns : {1'000'000, 0}) {
      if (r.rank == 0 && r.size > 1) {
        ok(r.signal(1, flag));  // outstanding: the barrier may time out while it completes this
        EXPECT_EQ(r.barrier(timeout_ns), OMPL_ERR_TIMEOUT) << "the others have not come";
        for (uint32_t target = 1; target < r.size; ++target) ok(r.signal(target, flag + 4));
        int code = OMPL_ERR_TIMEOUT;
        while (code == OMPL_ERR_TIMEOUT) code = r.barrier(1'000'000);
        ok(code);
        EXPECT_EQ(r.barrier(timeout_ns), OMPL_ERR_TIMEOUT) << "a new one, to which they have not come";
        for (uint32_t target = 1; target < r.size; ++target) ok(r.signal(target, flag + 4));
        r.allocate(8);  // finishes it, then has a barrier of its own
      } else if (r.size > 1) {
        ok(r.wait(flag + 4));
        ok(r.barrier());
        ok(r.wait(flag + 4));
        ok(r.barrier());
        r.allocate(8);
      }
    }
  });
}

TEST_P(Conformance, Memory_R20_AllocationsAreZeroAlignedAndDisjoint) {
  world()->run([](Rank& r) {
    std::vector<std::pair<uint64_t, std::size_t>> live;
    for (uint32_t i = 0; i < rounds(60); ++i) {
      const std::size_t size = 1 + (i * 7919) % 50'000;
      const uint64_t offset = r.allocate(size);
      EXPECT_NE(offset, 0U);
      EXPECT_EQ(offset % 256, 0U);
      for (const auto& [other, length] : live)
        EXPECT_TRUE(offset + size <= other || other + length <= offset) << offset << " and " << other;
      const std::byte* const bytes = r.own(offset);
      ASSERT_NE(bytes, nullptr);
      const std::vector<std::byte> zero(size);
      EXPECT_EQ(std::memcmp(bytes, zero.data(), size), 0) << "allocation " << i;
      // Dirtied by another rank: what is freed and allocated again must be zero all the same.
      ok(r.barrier());  // all have looked
      const auto dirt = pattern(size, i);
      ok(r.put(dirt.data(), r.right(), offset, size));
      live.emplace_back(offset, size);
      if (i % 3 == 2) {
        ok(r.free(live[i % live.size()].first));
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(i % live.size()));
      }
    }
    for (const auto& [offset, length] : live) ok(r.free(offset));
  });
}

// Also of contexts that only put, and need not have flushed: a put must not land in what was freed.
TEST_P(Conformance, Memory_R20_FreeCompletesTheOperationsOfAllContexts) {
  world({.endpoints = 3})->run([](Rank& r) {
    const auto other = r.context();
    const auto third = r.context();
    const uint64_t value = 1;
    for (uint32_t i = 0; i < rounds(30); ++i) {
      const uint64_t freed = r.allocate(64);
      ok(other->put(&value, r.right(), freed, sizeof value));
      ok(third->put(&value, r.right(), freed + 8, sizeof value));
      ok(r.free(freed));
      const uint64_t fresh = r.allocate(64);
      EXPECT_EQ(r.count(fresh), 0U) << "a put to what was freed came late";
      EXPECT_EQ(r.count(fresh + 8), 0U);
      ok(r.barrier());
      ok(r.free(fresh));
    }
  });
}

TEST_P(Conformance, Memory_TheSameOffsetOnEveryRank) {
  world({.ranks = 3})->run([](Rank& r) {
    const uint64_t told = r.allocate(sizeof(uint64_t));
    for (int i = 0; i < 5; ++i) {
      const uint64_t offset = r.allocate(1000);
      ok(r.put(&offset, r.right(), told, sizeof offset));
      ok(r.barrier());
      uint64_t theirs = 0;
      std::memcpy(&theirs, r.own(told), sizeof theirs);
      EXPECT_EQ(theirs, offset);
      ok(r.barrier());
    }
  });
}

TEST_P(Conformance, Memory_R20_WhatDoesNotFitFailsEverywhereAndLeavesNothing) {
  world()->run([](Rank& r) {
    uint64_t offset = 42;
    EXPECT_EQ(r.alloc(std::size_t{1} << 40, &offset), OMPL_ERR_MEMORY);
    EXPECT_EQ(r.alloc(std::numeric_limits<std::size_t>::max(), &offset), OMPL_ERR_MEMORY);
    EXPECT_EQ(offset, 42U) << "outputs are set on success only";
    EXPECT_EQ(r.alloc(0, &offset), OMPL_ERR_ARG);
    EXPECT_EQ(r.alloc(8, nullptr), OMPL_ERR_ARG);
    const uint64_t good = r.allocate(8);
    ok(r.free(good));
    EXPECT_EQ(r.allocate(8), good) << "what failed holds no memory";
  });
}

TEST_P(Conformance, Memory_R20_OtherThreadsUseOlderAllocationsMeanwhile) {
  const auto w = world({.endpoints = 2});
  const uint64_t data = w->allocate(1 << 14);
  const uint64_t flags = w->allocate(1024);
  w->run(
      [&](Rank& r) {
        for (uint32_t i = 1; i <= rounds(60); ++i) {
          if (r.thread == 0) {
            const uint64_t extra = r.allocate(3000);
            ok(r.free(extra));
            continue;
          }
          const uint64_t mine = data + r.thread * 2048;
          const uint64_t flag = flags + r.thread * 8;
          const auto source = pattern(2048, i * r.thread);
          ok(r.put_signal(source.data(), r.right(), mine, 2048, flag));
          ok(r.wait(flag));
          EXPECT_EQ(mismatch(r.own(mine), 2048, i * r.thread), 2048U);
          ok(r.signal(r.left(), flag + 4));
          ok(r.wait(flag + 4));
        }
      },
      3);
}

TEST_P(Conformance, Memory_PointersAreOfAllocatedMemoryOnly) {
  world()->run([](Rank& r) {
    const uint64_t offset = r.allocate(300);
    EXPECT_NE(r.pointer(r.rank, offset), nullptr);
    EXPECT_EQ(r.own(offset + 299), r.own(offset) + 299);
    EXPECT_EQ(r.pointer(r.rank, 0), nullptr);
    EXPECT_EQ(r.pointer(r.rank, offset + 300), nullptr);
    EXPECT_EQ(r.pointer(r.size, offset), nullptr);
    ok(r.free(offset));
    EXPECT_EQ(r.pointer(r.rank, offset), nullptr);
  });
}

// What is wrong with an address, and what each call then says.
struct Wrong {
  const char* what;
  uint64_t offset;
  std::size_t length;
  int code;
};

void expect_refusal(Rank& r, const Wrong& wrong, uint64_t flag) {
  SCOPED_TRACE(wrong.what);
  std::vector<std::byte> local(8192, std::byte{0xee});
  for (uint32_t target = 0; target < r.size; ++target) {
    EXPECT_EQ(r.put(local.data(), target, wrong.offset, wrong.length), wrong.code);
    EXPECT_EQ(r.get(local.data(), target, wrong.offset, wrong.length), wrong.code);
    EXPECT_EQ(r.put_signal(local.data(), target, wrong.offset, wrong.length, flag), wrong.code);
  }
  EXPECT_STRNE(error_detail(), "");
}

TEST_P(Conformance, Errors_BadDataAddressesAreRefusedAndNothingIsWritten) {
  world()->run([](Rank& r) {
    const uint64_t first = r.allocate(512);
    const uint64_t second = r.allocate(512);
    const uint64_t freed = r.allocate(512);
    const uint64_t flag = r.allocate(4);
    ok(r.free(freed));
    constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
    for (const Wrong& wrong : {Wrong{"offset 0", 0, 8, OMPL_ERR_OFFSET},
                               Wrong{"in the layer's own pages", 64, 8, OMPL_ERR_OFFSET},
                               Wrong{"freed", freed, 8, OMPL_ERR_OFFSET},
                               Wrong{"outside the segment", uint64_t{1} << 40, 8, OMPL_ERR_OFFSET},
                               Wrong{"the last offset", UINT64_MAX, 8, OMPL_ERR_OFFSET},
                               Wrong{"over two allocations", first + 256, 512, OMPL_ERR_LENGTH},
                               Wrong{"one byte too long", second, 513, OMPL_ERR_LENGTH},
                               Wrong{"overflow", first + 8, kHuge, OMPL_ERR_LENGTH},
                               Wrong{"overflow to below", first + 8, kHuge - first, OMPL_ERR_LENGTH}})
      expect_refusal(r, wrong, flag);
    ok(r.barrier());
    const std::vector<std::byte> zero(512);
    EXPECT_EQ(std::memcmp(r.own(first), zero.data(), 512), 0);
    EXPECT_EQ(std::memcmp(r.own(second), zero.data(), 512), 0);
    EXPECT_EQ(r.count(flag), 0U) << "a refused put_signal does not signal";
    ok(r.barrier());
    ok(r.put(zero.data(), r.right(), second, 512));  // a good one still works
  });
}

TEST_P(Conformance, Errors_BadFlagsAreRefusedAndNothingIsRaised) {
  world()->run([](Rank& r) {
    const uint64_t data = r.allocate(256);
    const uint64_t freed = r.allocate(256);
    ok(r.free(freed));
    const auto refused = [&](uint64_t flag, int code) {
      SCOPED_TRACE(flag);
      EXPECT_EQ(r.signal(r.right(), flag), code);
      EXPECT_EQ(r.wait(flag), code);
      EXPECT_EQ(r.poll(flag), code);
      EXPECT_EQ(r.put_signal(&flag, r.right(), data, 8, flag), code);
    };
    refused(0, OMPL_ERR_OFFSET);
    refused(4, OMPL_ERR_OFFSET);
    refused(freed, OMPL_ERR_OFFSET);
    refused(uint64_t{1} << 40, OMPL_ERR_OFFSET);
    refused(data + 1, OMPL_ERR_ALIGN);
    refused(data + 2, OMPL_ERR_ALIGN);
    ok(r.barrier());
    const std::vector<std::byte> zero(256);
    EXPECT_EQ(std::memcmp(r.own(data), zero.data(), 256), 0);
  });
}

TEST_P(Conformance, Errors_BadRanksAndFrees) {
  world()->run([](Rank& r) {
    const uint64_t data = r.allocate(1024);
    uint64_t word = 1;
    for (const uint32_t bad : {r.size, r.size + 1, UINT32_MAX}) {
      EXPECT_EQ(r.put(&word, bad, data, 8), OMPL_ERR_RANK);
      EXPECT_EQ(r.get(&word, bad, data, 8), OMPL_ERR_RANK);
      EXPECT_EQ(r.signal(bad, data), OMPL_ERR_RANK);
      EXPECT_EQ(r.put_signal(&word, bad, data, 8, data), OMPL_ERR_RANK);
    }
    EXPECT_EQ(r.free(0), OMPL_ERR_OFFSET);
    EXPECT_EQ(r.free(data + 256), OMPL_ERR_OFFSET) << "only what an alloc returned";
    ok(r.free(data));
    EXPECT_EQ(r.free(data), OMPL_ERR_OFFSET);
    EXPECT_EQ(r.put(&word, r.right(), data, 8), OMPL_ERR_OFFSET);
  });
}

TEST_P(Conformance, Memory_KindsOfAHostsMemory) {
  world()->run([](Rank& r) {
    const uint64_t data = r.allocate(8);
    int kind = OMPL_KIND_DEVICE;
    ok(ompl_memory_kind(r.own(data), &kind));
    EXPECT_EQ(kind, OMPL_KIND_HOST);
    kind = OMPL_KIND_DEVICE;
    ok(ompl_memory_kind(&data, &kind));
    EXPECT_EQ(kind, OMPL_KIND_HOST);
    EXPECT_EQ(ompl_memory_kind(&data, nullptr), OMPL_ERR_ARG);
    ok(ompl_kind_supports(OMPL_KIND_HOST, OMPL_USE_LOCAL));
    ok(ompl_kind_supports(OMPL_KIND_HOST, OMPL_USE_REMOTE));
    EXPECT_EQ(ompl_kind_supports(OMPL_KIND_DEVICE, OMPL_USE_REMOTE), OMPL_ERR_UNSUPPORTED);
    EXPECT_EQ(ompl_kind_supports(2, OMPL_USE_LOCAL), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_kind_supports(OMPL_KIND_HOST, 2), OMPL_ERR_ARG);
  });
}

}  // namespace
}  // namespace ompl::conformance
