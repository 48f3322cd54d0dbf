// SPDX-License-Identifier: BSD-3-Clause
// Fences, completion for one rank or for the whole process, contexts that threads share, sources that may be reused.
#include <array>
#include <barrier>
#include <cstring>

#include "conformance/conformance.hpp"

namespace ompl::conformance {
namespace {

constexpr std::size_t kBlockWords = 320;  // of a block of data
using WordBlock = std::array<uint64_t, kBlockWords>;

WordBlock word_block(uint64_t value) {
  WordBlock block;
  block.fill(value);
  return block;
}

uint64_t word_at(Rank& r, uint64_t offset) {
  return std::atomic_ref(*static_cast<uint64_t*>(ompl_ptr(r.rank, offset))).load();
}

// The smallest word of a block of this rank's memory.
uint64_t oldest_word(Rank& r, uint64_t block) {
  auto* const words = static_cast<uint64_t*>(ompl_ptr(r.rank, block));
  uint64_t least = UINT64_MAX;
  for (std::size_t i = 0; i < kBlockWords; ++i)
    least = std::min(least, std::atomic_ref(words[i]).load(std::memory_order_acquire));
  return least;
}

// Much progress for each look: in between the words come one by one.
void progress_often(const Rank& r) {
  for (int i = 0; i < 20; ++i) ASSERT_GE(ompl_progress(r.ctx(), 0), 0);
}

// Each round puts a block, a fence, and a word that says its number: whoever reads the word finds that block, or a later one.
void follow_blocks(Rank& r, uint64_t block, uint64_t word, uint64_t last) {
  for (uint64_t seen = 0; seen < last;) {
    seen = word_at(r, word);
    ASSERT_GE(oldest_word(r, block), seen) << "the word overtook the block";
    progress_often(r);
  }
}

TEST_P(Conformance, Fence_R27_WhatIsPutBeforeIsSeenBefore) {
  OMPL_NOT_UNDER_TSAN();
  const auto w = world({.endpoints = 2});
  const uint64_t block = w->allocate(sizeof(WordBlock));
  const uint64_t word = w->allocate(8);
  const uint64_t last = rounds(50);
  w->run([&](Rank& r) {
    if (r.rank % 2 == 1 || r.size == 1) return follow_blocks(r, block, word, r.size == 1 ? 0 : last);
    for (uint64_t i = 1; i <= last; ++i) {
      const WordBlock data = word_block(i);
      ok(r.put(data.data(), r.right(), block, sizeof data));
      ok(ompl_ctx_fence(r.ctx(), i % 2 == 0 ? r.right() : OMPL_ALL_RANKS, OMPL_FOREVER));
      ok(r.put(&i, r.right(), word, sizeof i));
    }
    ok(r.quiet());
  });
}

// The same with a signal and an atomic before the fence: they are applied before the word is there.
TEST_P(Conformance, Fence_R27_SignalsAndAtomicsAreAppliedBefore) {
  OMPL_NOT_UNDER_TSAN();
  const auto w = world({.endpoints = 2});
  const uint64_t words = w->allocate(24);
  const uint64_t last = rounds(50);
  w->run([&](Rank& r) {
    if (r.rank % 2 == 1) {
      for (uint64_t seen = 0; seen < last;) {
        seen = word_at(r, words);
        ASSERT_GE(word_at(r, words + 8), seen);
        ASSERT_GE(word_at(r, words + 16), seen);
        progress_often(r);
      }
    } else if (r.size > 1) {
      for (uint64_t i = 1; i <= last; ++i) {
        const ompl_signal signal{.flag_addr = words + 8, .value = 1, .op = OMPL_ADD64};
        ok(ompl_ctx_signal(r.ctx(), r.right(), &signal, OMPL_FOREVER));
        ok(ompl_ctx_atomic64(r.ctx(), r.right(), words + 16, OMPL_ATOMIC_UMAX, i, 0, nullptr,
                             OMPL_FOREVER));
        ok(ompl_ctx_fence(r.ctx(), r.right(), OMPL_FOREVER));
        ok(r.put(&i, r.right(), words, sizeof i));
      }
      ok(r.quiet());
    }
  });
}

// A get is ordered with nothing, so what it finds was complete.
TEST_P(Conformance, Quiet_OfOneRankCompletesWhatWasSentThere) {
  OMPL_NOT_UNDER_TSAN();
  const auto w = world({.ranks = 3, .endpoints = 2});
  const uint64_t block = w->allocate(sizeof(WordBlock));
  const uint64_t words = w->allocate(16);
  w->run([&](Rank& r) {
    for (uint64_t i = 1; i <= rounds(60); ++i) {
      const WordBlock data = word_block(i);
      const ompl_signal signal{.flag_addr = words, .value = 1, .op = OMPL_ADD64};
      for (const uint32_t to : {r.right(), r.left()}) {
        if (to == r.right()) ok(r.put(data.data(), to, block, sizeof data));
        ok(ompl_ctx_signal(r.ctx(), to, &signal, OMPL_FOREVER));
      }
      if (i % 2 == 0) {
        ok(ompl_ctx_quiet_rank(r.ctx(), r.right(), OMPL_FOREVER));
        uint64_t count = 0;
        ok(r.get(&count, r.right(), words, sizeof count));
        EXPECT_GE(count, i);
      } else {
        ok(ompl_ctx_flush_rank(r.ctx(), r.right(), OMPL_FOREVER));
      }
      WordBlock back = word_block(0);
      ok(r.get(back.data(), r.right(), block, sizeof back));
      EXPECT_EQ(back, data) << "round " << i;
    }
    ok(r.quiet());
  });
}

TEST_P(Conformance, Quiet_OfTheProcessCoversAllThreads) {
  OMPL_NOT_UNDER_TSAN();
  constexpr unsigned kThreads = 3;
  const auto w = world({.endpoints = 2});
  const uint64_t words = w->allocate(8 * kThreads);
  const uint64_t busy = w->allocate(8 * kThreads);
  // Of each rank's threads; ranks share nothing.
  std::vector<std::unique_ptr<std::barrier<>>> all;
  for (int i = 0; i < 2; ++i) all.push_back(std::make_unique<std::barrier<>>(kThreads));
  w->run(
      [&](Rank& r) {
        for (uint64_t i = 1; i <= rounds(40); ++i) {
          const uint64_t mine = 8 * uint64_t{r.thread};
          ok(ompl_put(address(&i), r.right(), words + mine, sizeof i));
          if (i % 2 == 0) ok(ompl_add64(r.right(), busy + mine, 1));
          all[r.rank]->arrive_and_wait();
          if (r.thread == 0) {
            ok(i % 3 == 0 ? ompl_ctx_quiet(OMPL_CTX_SHARED, OMPL_FOREVER) : ompl_process_quiet());
            std::array<uint64_t, kThreads> back{};
            ok(ompl_get(address(back.data()), r.right(), words, sizeof back));
            for (const uint64_t word : back) EXPECT_EQ(word, i);
            ok(ompl_get(address(back.data()), r.right(), busy, sizeof back));
            for (const uint64_t word : back) EXPECT_EQ(word, i / 2);
          } else {  // goes on meanwhile
            ok(ompl_put(address(&i), r.right(), busy + mine, 0));
          }
          all[r.rank]->arrive_and_wait();
        }
      },
      kThreads);
}

TEST_P(Conformance, SharedContext_ServesAllThreads) {
  constexpr unsigned kThreads = 4;
  const auto w = world({.endpoints = 2});
  const uint64_t words = w->allocate(8 * kThreads + 8);
  const uint64_t flags = w->allocate(4 * kThreads);
  w->run(
      [&](Rank& r) {
        for (uint64_t i = 1; i <= rounds(40); ++i) {
          const uint64_t mine = words + 8 * uint64_t{r.thread};
          const uint64_t flag = flags + 4 * uint64_t{r.thread};
          ok(ompl_ctx_put(OMPL_CTX_SHARED, address(&i), r.right(), mine, sizeof i, OMPL_FOREVER));
          ok(ompl_ctx_fence(OMPL_CTX_SHARED, r.right(), OMPL_FOREVER));
          ok(ompl_ctx_put_word(OMPL_CTX_SHARED, r.right(), flag, OMPL_FOREVER));
          ok(ompl_ctx_wait(OMPL_CTX_SHARED, flag, OMPL_FOREVER));
          EXPECT_EQ(word_at(r, mine), i);
          uint64_t before = 0;
          ok(ompl_ctx_atomic64(OMPL_CTX_SHARED, r.right(), words + 8 * uint64_t{kThreads},
                               OMPL_ATOMIC_ADD, 1, 0, &before, OMPL_FOREVER));
          ok(ompl_ctx_put_word(OMPL_CTX_SHARED, r.left(), flag, OMPL_FOREVER));
          ok(ompl_ctx_wait(OMPL_CTX_SHARED, flag, OMPL_FOREVER));
        }
        ok(ompl_ctx_quiet(OMPL_CTX_SHARED, OMPL_FOREVER));
        ok(ompl_ctx_destroy(OMPL_CTX_SHARED));
      },
      kThreads);
  w->run([&](Rank& r) {
    ok(r.barrier());
    EXPECT_EQ(word_at(r, words + 8 * uint64_t{kThreads}), uint64_t{kThreads} * rounds(40));
  });
}

TEST_P(Conformance, Nonblocking_ASourceMayBeChangedBeforeTheDataAreThere) {
  const auto w = world();
  const uint64_t block = w->allocate(sizeof(WordBlock));
  w->run([&](Rank& r) {
    WordBlock source;
    for (uint64_t i = 1; i <= rounds(100); ++i) {
      source = word_block(i);
      ompl_handle handle = OMPL_HANDLE_INIT;
      int code = OMPL_RETRY_FULL;
      while (code >= OMPL_RETRY_FULL) {
        code = ompl_put_nb(r.ctx(), address(source.data()), r.right(), block, sizeof source, nullptr, 0,
                           &handle);
        if (code >= OMPL_RETRY_FULL) {
          ASSERT_GE(ompl_progress(r.ctx(), 0), 0);
        }
      }
      while ((code = ompl_handle_test_source(r.ctx(), &handle)) == 0) {
      }
      ASSERT_EQ(code, 1) << ompl_strerror(code);
      source = word_block(0);
      ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
      WordBlock back = word_block(0);
      ok(r.get(back.data(), r.right(), block, sizeof back));
      EXPECT_EQ(back, word_block(i)) << "round " << i;
    }
  });
}

TEST_P(Conformance, Order_BadArguments) {
  const auto w = world();
  w->run([&](Rank& r) {
    ok(ompl_ctx_fence(r.ctx(), OMPL_ALL_RANKS, 0));
    EXPECT_EQ(ompl_ctx_fence(r.ctx(), r.size, 0), OMPL_ERR_RANK);
    EXPECT_EQ(ompl_ctx_flush_rank(r.ctx(), r.size, 0), OMPL_ERR_RANK);
    EXPECT_EQ(ompl_ctx_quiet_rank(OMPL_CTX_SHARED, r.size, 0), OMPL_ERR_RANK);
    EXPECT_EQ(ompl_handle_test_source(r.ctx(), nullptr), OMPL_ERR_ARG);
    ompl_handle handle = OMPL_HANDLE_INIT;
    EXPECT_EQ(ompl_handle_test_source(r.ctx(), &handle), 1);
  });
}

}  // namespace
}  // namespace ompl::conformance
