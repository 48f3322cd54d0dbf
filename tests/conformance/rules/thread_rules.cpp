// SPDX-License-Identifier: BSD-3-Clause
// Many threads on few endpoints: nobody starves, nothing is lost, the order holds; contexts that move.
#include <algorithm>
#include <array>
#include <mutex>
#include <semaphore>
#include <thread>

#include "conformance/conformance.hpp"

namespace ompl::conformance {
namespace {

constexpr unsigned kThreads = 8;
// A thread may do so many operations while another does one, and no more. Far above what a fair pool shows;
// far below what one that starves somebody would.
constexpr uint32_t kUnfairness = 300;

// Thread i of rank 0 plays ping-pong with thread i of rank 1, until the slowest has played its quota. Each ball
// carries a payload.
class PingPong {
 public:
  PingPong(World& w, uint32_t quota) : quota_(quota) {
    w.run([this](Rank& r) {
      data_ = r.allocate(kThreads * kLength);
      flags_ = r.allocate(kThreads * kStride);
    });
    w.run([this](Rank& r) { play(r); }, kThreads);
  }
  [[nodiscard]] uint32_t fastest() const { return *std::ranges::max_element(played_); }
  [[nodiscard]] uint32_t slowest() const { return *std::ranges::min_element(played_); }

 private:
  static constexpr std::size_t kLength = 200;
  static constexpr uint64_t kStride = 64;

  // Rank 0 serves. The last ball of a pair says so with its payload's seed.
  void play(Rank& r) {
    if (r.rank > 1) return;
    const uint64_t data = data_ + r.thread * kLength;
    const uint64_t flag = flags_ + r.thread * kStride;
    const uint32_t other = 1 - r.rank;
    for (uint64_t round = 1;; ++round) {
      const bool last = r.rank == 0 && round > quota_ && finished_ == kThreads;
      const auto ball = pattern(kLength, last ? kLast : round);
      if (r.rank == 0) ok(r.put_signal(ball.data(), other, data, kLength, flag));
      if (last) return;
      ok(r.wait(flag));
      if (r.rank == 1 && mismatch(r.own(data), kLength, kLast) == kLength) return;
      ASSERT_EQ(mismatch(r.own(data), kLength, round), kLength) << "thread " << r.thread;
      if (r.rank == 1) ok(r.put_signal(ball.data(), other, data, kLength, flag));
      if (r.rank != 0) continue;
      ++played_[r.thread];
      if (round == quota_) ++finished_;
    }
  }

  static constexpr uint64_t kLast = 0;
  const uint32_t quota_;
  std::atomic<uint64_t> data_{0}, flags_{0};
  std::atomic<unsigned> finished_{0};        // threads of rank 0 that have played their quota
  std::array<uint32_t, kThreads> played_{};  // by rank 0's threads, each its own
};

TEST_P(Conformance, Threads_R14_EightOnFewEndpointsDoNotStarve) {
  if (GetParam().most_ranks < 2) GTEST_SKIP() << "ping-pong wants two ranks";
  for (const unsigned endpoints : {1U, 2U, 3U}) {
    SCOPED_TRACE(endpoints);
    const auto w = world({.endpoints = endpoints});
    const uint32_t quota = rounds(60);
    // A pool that starves somebody does so in each game; a busy machine, which lets some threads run more than others, in
    // one of a hundred.
    uint32_t fastest = UINT32_MAX;
    for (unsigned game = 0; game < 3; ++game) {
      const PingPong played(*w, quota);
      w->run([&](Rank& r) {
        if (r.rank != 0) return;
        EXPECT_GE(played.slowest(), quota);
        fastest = std::min(fastest, played.fastest());
      });
    }
    w->run([&](Rank& r) {
      if (r.rank == 0) {
        EXPECT_LE(fastest, kUnfairness * quota);
      }
    });
  }
}

// A thread that has used the only endpoint sleeps outside the layer until all others are through, and the one it talks
// to waits inside: a thread that is away holds nothing.
TEST_P(Conformance, Threads_R14_OneAsleepHoldsNobodyUp) {
  if (GetParam().most_ranks < 2) GTEST_SKIP() << "ping-pong wants two ranks";
  const auto w = world({.endpoints = 1});
  constexpr uint64_t kStride = 64;
  const uint64_t flags = w->allocate(kThreads * kStride);
  const uint32_t quota = rounds(100);
  std::atomic<uint32_t> played{0};
  std::counting_semaphore<kThreads> through{0};
  w->run(
      [&](Rank& r) {
        if (r.rank > 1) return;
        const uint64_t flag = flags + r.thread * kStride;
        const bool sleeps = r.thread == 0;
        for (uint32_t i = 0; i < (sleeps ? 2 : quota); ++i) {
          if (r.rank == 1) ok(r.wait(flag));
          ok(r.signal(1 - r.rank, flag));
          if (r.rank == 1) continue;
          ok(r.wait(flag));
          for (unsigned other = 1; sleeps && i == 0 && other < kThreads; ++other) through.acquire();
          if (sleeps && i == 0) {
            EXPECT_EQ(played, (kThreads - 1) * quota);
          }
          if (!sleeps) ++played;
        }
        if (r.rank == 0 && !sleeps) through.release();
      },
      kThreads);
  w->run([&](Rank& r) {
    if (r.rank != 0) return;
    EXPECT_EQ(played, (kThreads - 1) * quota);
  });
}

// All threads of all ranks put and signal to all ranks at once; every thread gets its share.
TEST_P(Conformance, Threads_R1_EightOnFewEndpointsLoseNothing) {
  for (const unsigned endpoints : {1U, 2U, 3U}) {
    SCOPED_TRACE(endpoints);
    const auto w = world({.ranks = 3, .endpoints = endpoints, .credits = 8});
    std::atomic<uint64_t> data{0};
    std::atomic<uint64_t> flag{0};
    w->run([&](Rank& r) {
      data = r.allocate(r.size * kThreads * 256);
      flag = r.allocate(4);
    });
    w->run(
        [&](Rank& r) {
          const uint32_t quota = rounds(20);
          const uint64_t place = data + (r.rank * kThreads + r.thread) * 256;
          const auto source = pattern(256, r.rank + r.thread);
          for (uint32_t i = 0; i < quota; ++i)
            for (uint32_t target = 0; target < r.size; ++target)
              ok(r.put_signal(source.data(), target, place, source.size(), flag));
          for (uint32_t i = 0; i < quota * r.size; ++i) ok(r.wait(flag));
        },
        kThreads);
    w->run([&](Rank& r) {
      EXPECT_EQ(r.drain(flag), 0U);
      for (unsigned i = 0; i < r.size * kThreads; ++i)
        EXPECT_EQ(mismatch(r.own(data + i * 256), 256, i / kThreads + i % kThreads), 256U);
    });
  }
}

// Waiters on one flag: each signal wakes somebody, and is taken by exactly one.
TEST_P(Conformance, Threads_R8_ManyWaitersOnOneFlag) {
  const auto w = world({.endpoints = 2});
  std::atomic<uint64_t> flag{0};
  w->run([&](Rank& r) { flag = r.allocate(8); });
  w->run(
      [&](Rank& r) {
        const uint32_t quota = rounds(100);
        if (r.thread == 0) {
          for (uint32_t i = 0; i < quota * (r.threads - 1); ++i) ok(r.signal(r.right(), flag));
          return;
        }
        for (uint32_t i = 0; i < quota; ++i) ok(r.wait(flag));
      },
      5);
  w->run([&](Rank& r) { EXPECT_EQ(r.drain(flag), 0U); });
}

// A task puts on one thread and signals on another, with its own context: the order belongs to the context.
TEST_P(Conformance, Contexts_R14_AnExplicitOneMovesBetweenThreads) {
  const auto w = world({.endpoints = 3});
  w->run([](Rank& r) {
    constexpr std::size_t kLength = 600;
    const uint64_t data = r.allocate(kLength);
    const uint64_t flag = r.allocate(8);
    const uint32_t count = rounds(60);
    const std::unique_ptr<Rank> task = r.context();
    std::binary_semaphore put_done{0};
    std::binary_semaphore signal_done{0};
    std::jthread second([&] {
      for (uint64_t i = 1; i <= count; ++i) {
        put_done.acquire();
        ok(task->signal(task->right(), flag));
        signal_done.release();
      }
    });
    for (uint64_t i = 1; i <= count; ++i) {
      const auto source = pattern(kLength, i);
      ok(task->put(source.data(), r.right(), data, kLength));
      put_done.release();
      ok(r.wait(flag));
      ASSERT_EQ(mismatch(r.own(data), kLength, i), kLength) << i;
      signal_done.acquire();
      ok(r.signal(r.left(), flag + 4));
      ok(r.wait(flag + 4));
    }
  });
}

// Contexts come and go while others work; destroying one completes it.
TEST_P(Conformance, Contexts_DestroyingOneCompletesIt) {
  const auto w = world({.endpoints = 2});
  const uint64_t flags = w->allocate(256);
  w->run(
      [&](Rank& r) {
        const uint64_t flag = flags + r.thread * 16;
        for (uint32_t i = 1; i <= rounds(30); ++i) {
          {
            const auto task = r.context();
            for (int k = 0; k < 3; ++k) ok(task->signal(r.right(), flag));
          }
          ok(r.signal(r.right(), flag + 4));
          ok(r.wait(flag + 4));
          EXPECT_EQ(r.count(flag), 3 * i);
          ok(r.signal(r.left(), flag + 8));
          ok(r.wait(flag + 8));
        }
      },
      3);
}

// The lock that keeps the program's calls of MPI and the layer's apart is one of the process, not of a rank.
TEST_P(Conformance, Threads_TheLockAroundMpiExcludes) {
  constexpr uint32_t kTurns = 100;
  constexpr unsigned kLockers = 3;
  const auto w = world();
  uint32_t turns = 0;
  w->run(
      [&](Rank& r) {
        for (uint32_t i = 0; i < kTurns; ++i) {
          ok(ompl_mpi_lock());
          ++turns;
          EXPECT_EQ(ompl_mpi_lock(), OMPL_ERR_STATE);
          ok(ompl_mpi_unlock());
        }
        EXPECT_EQ(ompl_mpi_unlock(), OMPL_ERR_STATE);
        ok(r.quiet());
      },
      kLockers);
  EXPECT_GT(turns, 0U);
  EXPECT_EQ(turns % (kTurns * kLockers), 0U);  // of as many ranks as are here
}

}  // namespace
}  // namespace ompl::conformance
