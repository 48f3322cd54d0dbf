// SPDX-License-Identifier: BSD-3-Clause
// Signals: counted, never early, never lost; what flush, quiet and barrier promise of them.
#include <cstring>
#include <thread>

#include "conformance/conformance.hpp"

namespace ompl::conformance {
namespace {

TEST_P(Conformance, Signals_AWaitTakesOne) {
  world()->run([](Rank& r) {
    const uint64_t flag = r.allocate(4);
    for (int i = 0; i < 3; ++i) ok(r.signal(r.right(), flag));
    ok(r.barrier());  // all three are applied
    for (uint32_t left = 3; left > 0; --left) {
      EXPECT_EQ(r.count(flag), left);
      ok(r.wait(flag));
    }
    EXPECT_EQ(r.count(flag), 0U);
  });
}

TEST_P(Conformance, Signals_R8_APollTakesNothing) {
  world()->run([](Rank& r) {
    const uint64_t flag = r.allocate(4);
    EXPECT_EQ(r.poll(flag), 0);
    ok(r.barrier());
    ok(r.signal(r.right(), flag));
    ok(r.barrier());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(r.poll(flag), 1);
    ok(r.wait(flag, 0));
    EXPECT_EQ(r.poll(flag), 0);
  });
}

TEST_P(Conformance, Signals_R8_APollThatSaysYesIsAnAcquire) {
  world()->run([](Rank& r) {
    const uint64_t data = r.allocate(512);
    const uint64_t flag = r.allocate(8);
    for (uint64_t i = 1; i <= rounds(200); ++i) {
      const auto source = pattern(512, i + r.rank);
      ok(r.put_signal(source.data(), r.right(), data, 512, flag));
      while (r.poll(flag) == 0) std::this_thread::yield();
      EXPECT_EQ(mismatch(r.own(data), 512, i + r.left()), 512U);
      ok(r.wait(flag, 0));
      ok(r.signal(r.left(), flag + 4));
      ok(r.wait(flag + 4));
    }
  });
}

TEST_P(Conformance, Signals_R9_ATimedWaitTakesNothingWhenItFails) {
  world()->run([](Rank& r) {
    const uint64_t flag = r.allocate(4);
    EXPECT_EQ(r.wait(flag, 0), OMPL_ERR_TIMEOUT);
    EXPECT_EQ(r.wait(flag, 2'000'000), OMPL_ERR_TIMEOUT);
    EXPECT_EQ(r.count(flag), 0U);
    ok(r.barrier());
    ok(r.signal(r.right(), flag));
    ok(r.wait(flag, 240'000'000'000));
    EXPECT_EQ(r.count(flag), 0U);
  });
}

// Several puts, scattered and of changing content, then one signal: who takes it sees all of them.
void never_early(Rank& r, uint64_t data, uint64_t flags, uint32_t count) {
  constexpr std::size_t kPiece = 96;
  constexpr uint64_t kPieces = 5;
  const uint64_t mine = data + r.thread * kPieces * kPiece;
  const uint64_t ready = flags + r.thread * 8;
  const uint64_t read = ready + 4;
  for (uint64_t i = 1; i <= count; ++i) {
    for (uint64_t piece = 0; piece < kPieces; ++piece) {
      const auto source = pattern(kPiece, i * kPieces + piece);
      ok(r.put(source.data(), r.right(), mine + piece * kPiece, kPiece));
    }
    ok(r.signal(r.right(), ready));
    ok(r.wait(ready));
    for (uint64_t piece = 0; piece < kPieces; ++piece)
      ASSERT_EQ(mismatch(r.own(mine + piece * kPiece), kPiece, i * kPieces + piece), kPiece)
          << "round " << i << ", piece " << piece;
    ok(r.signal(r.left(), read));
    ok(r.wait(read));
  }
}

TEST_P(Conformance, Signals_R14_NeverSeenBeforeTheirPuts) {
  const auto w = world();
  std::atomic<uint64_t> data{0};
  std::atomic<uint64_t> flags{0};
  w->run([&](Rank& r) {
    data = r.allocate(1 << 16);
    flags = r.allocate(1024);
    never_early(r, data, flags, rounds(300));
  });
}

// With more threads than endpoints a context cannot keep its slot: the order must hold through the changes.
TEST_P(Conformance, Signals_R14_NeverSeenBeforeTheirPutsThroughSlotChanges) {
  const auto w = world({.endpoints = 3});
  const uint64_t data = w->allocate(1 << 16);
  const uint64_t flags = w->allocate(1024);
  w->run([&](Rank& r) { never_early(r, data, flags, rounds(50)); }, 5);
}

TEST_P(Conformance, Signals_NoneIsLostWithManyProducers) {
  for (const uint32_t ranks : {2U, 3U, 5U}) {
    SCOPED_TRACE(ranks);
    const auto w = world({.ranks = ranks});
    constexpr unsigned kThreads = 3;
    const uint64_t flag = w->allocate(4);
    w->run(
        [&](Rank& r) {
          const uint32_t each = rounds(200);
          for (uint32_t i = 0; i < each; ++i) ok(r.signal(0, flag));
          if (r.rank != 0) return;
          for (uint32_t i = 0; i < each * r.size; ++i) ok(r.wait(flag));  // the share of this thread
        },
        kThreads);
    w->run([&](Rank& r) { EXPECT_EQ(r.drain(flag), 0U); });
  }
}

// Two ranks that fill each other's queues before either takes anything: somebody must empty the receive side.
TEST_P(Conformance, Progress_R1_TwoRanksFloodEachOther) {
  for (const unsigned credits : {0U, 2U}) {
    SCOPED_TRACE(credits);
    world({.endpoints = 1, .credits = credits})->run([](Rank& r) {
      const uint32_t count = rounds(1500);
      const uint64_t flag = r.allocate(4);
      for (uint32_t i = 0; i < count; ++i) ok(r.signal(r.right(), flag));
      for (uint32_t i = 0; i < count; ++i) ok(r.wait(flag));
      ok(r.barrier());
      EXPECT_EQ(r.count(flag), 0U);
    });
  }
}

TEST_P(Conformance, Progress_R1_TwoRanksFloodEachOtherWithData) {
  world({.endpoints = 1})->run([](Rank& r) {
    const uint64_t data = r.allocate(8192);
    const uint64_t flag = r.allocate(4);
    const auto source = pattern(8192, r.rank);
    const uint32_t count = rounds(200);
    for (uint32_t i = 0; i < count; ++i) ok(r.put_signal(source.data(), r.right(), data, 8192, flag));
    for (uint32_t i = 0; i < count; ++i) ok(r.wait(flag));
    EXPECT_EQ(mismatch(r.own(data), 8192, r.left()), 8192U);
  });
}

// A puts to B and tells C, which signals B: needs a flush by A, and nothing else.
TEST_P(Conformance, Signals_R5_FlushThenASignalByAThirdRank) {
  world({.ranks = 3})->run([](Rank& r) {
    const uint64_t data = r.allocate(2048);
    const uint64_t flag = r.allocate(8);
    for (uint64_t i = 1; i <= rounds(100); ++i) {
      const uint32_t from = 0;
      const uint32_t to = 1 % r.size;
      const uint32_t via = 2 % r.size;
      if (r.rank == from) {
        const auto source = pattern(2048, i);
        ok(r.put(source.data(), to, data, source.size()));
        ok(r.flush());
        ok(r.signal(via, flag));
      }
      if (r.rank == via) {
        ok(r.wait(flag));
        ok(r.signal(to, flag + 4));
      }
      if (r.rank == to) {
        ok(r.wait(flag + 4));
        EXPECT_EQ(mismatch(r.own(data), 2048, i), 2048U) << i;
      }
      ok(r.barrier());
    }
  });
}

// The same among threads of one rank: contexts are not ordered, but a flush is.
TEST_P(Conformance, Signals_R5_FlushThenASignalByAnotherThread) {
  if (GetParam().most_ranks < 2) GTEST_SKIP() << "wants a rank that puts and one that receives";
  const auto w = world({.endpoints = 3});
  std::atomic<uint64_t> flushed{0};  // both threads are of rank 0
  const uint64_t data = w->allocate(2048);
  const uint64_t flag = w->allocate(8);
  w->run(
      [&](Rank& r) {
        const bool receives = r.rank == 1 && r.thread == 0;
        for (uint64_t i = 1; i <= rounds(150); ++i) {
          if (r.rank == 0 && r.thread == 0) {
            const auto source = pattern(2048, i);
            ok(r.put(source.data(), 1, data, source.size()));
            ok(r.flush());
            flushed = i;
            ok(r.wait(flag + 4));  // it was read
          } else if (r.rank == 0) {
            while (flushed < i) std::this_thread::yield();
            ok(r.signal(1, flag));
          } else if (receives) {
            ok(r.wait(flag));
            EXPECT_EQ(mismatch(r.own(data), 2048, i), 2048U) << i;
            ok(r.signal(0, flag + 4));
          }
        }
      },
      2);
}

// After quiet the earlier signals are applied: the later one, once seen, is seen with all of them.
void seen_with_all(Rank& r, uint64_t flags, uint32_t burst, uint32_t count) {
  const uint64_t many = flags + r.thread * 16;
  const uint64_t last = many + 4;
  const uint64_t back = many + 8;
  for (uint32_t i = 1; i <= count; ++i) {
    for (uint32_t k = 0; k < burst; ++k) ok(r.signal(r.right(), many));
    ok(r.quiet());
    ok(r.signal(r.right(), last));
    ok(r.wait(last));
    EXPECT_EQ(r.count(many), i * burst);
    ok(r.signal(r.left(), back));
    ok(r.wait(back));
  }
}

TEST_P(Conformance, Signals_R5_QuietWaitsForApplication) {
  const auto w = world();
  const uint64_t flags = w->allocate(1024);
  w->run([&](Rank& r) { seen_with_all(r, flags, 20, rounds(60)); });
}

// And of a context that used several slots, because others took them in turn.
TEST_P(Conformance, Signals_R5_QuietCoversEverySlotUsed) {
  const auto w = world({.endpoints = 3});
  const uint64_t flags = w->allocate(1024);
  w->run([&](Rank& r) { seen_with_all(r, flags, 12, rounds(30)); }, 4);
}

TEST_P(Conformance, Signals_R10_ASignalReleasesOwnStores) {
  world()->run([](Rank& r) {
    const uint64_t data = r.allocate(256);
    const uint64_t flag = r.allocate(8);
    for (uint64_t i = 1; i <= rounds(200); ++i) {
      const auto content = pattern(256, i + r.rank);
      void* const mapped = r.pointer(r.right(), data);
      // Where the neighbour is not mapped, the stores are to own memory, and the neighbour gets them.
      std::memcpy(mapped != nullptr ? mapped : r.pointer(r.rank, data), content.data(), content.size());
      ok(r.signal(r.right(), flag));
      ok(r.wait(flag));
      std::vector<std::byte> seen(256);
      if (r.pointer(r.left(), data) != nullptr) {
        std::memcpy(seen.data(), r.own(data), seen.size());
      } else {
        ok(r.get(seen.data(), r.left(), data, seen.size()));
      }
      EXPECT_EQ(mismatch(seen.data(), 256, i + r.left()), 256U);
      ok(r.signal(r.left(), flag + 4));
      ok(r.wait(flag + 4));
    }
  });
}

// More than any queue of a conduit holds, while the receiver is outside the layer [4].
TEST_P(Conformance, Signals_R4_ASleepingReceiverStallsItsSendersAndLosesNothing) {
  if (GetParam().most_ranks < 2) GTEST_SKIP() << "wants a rank that sends and one that receives";
  const auto w = world({.ranks = 3, .endpoints = 2});
  const uint64_t flag = w->allocate(64);
  w->run([&](Rank& r) {
    const uint32_t count = rounds(2000);
    if (r.rank > 0) {
      for (uint32_t i = 0; i < count; ++i) ok(r.signal(0, flag));
      ok(r.quiet());
      return;
    }
    ok(r.wait(flag));  // connected
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    for (uint32_t i = 1; i < count * (r.size - 1); ++i) ok(r.wait(flag));
    EXPECT_EQ(r.count(flag), 0U);
  });
}

TEST_P(Conformance, Signals_R4_CreditsOfTwoLoseNothing) {
  world({.ranks = 3, .endpoints = 2, .credits = 2})->run([](Rank& r) {
    const uint64_t data = r.allocate(512 * r.size);
    const uint64_t flag = r.allocate(4);
    const auto source = pattern(512, 4);
    const uint32_t count = rounds(300);
    for (uint32_t i = 0; i < count; ++i)
      for (uint32_t target = 0; target < r.size; ++target)
        ok(r.put_signal(source.data(), target, data + 512 * r.rank, source.size(), flag));
    for (uint32_t i = 0; i < count * r.size; ++i) ok(r.wait(flag));
    ok(r.barrier());
    EXPECT_EQ(r.count(flag), 0U);
  });
}

}  // namespace
}  // namespace ompl::conformance
