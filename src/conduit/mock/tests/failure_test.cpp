// SPDX-License-Identifier: BSD-3-Clause
// What the core does when the network fails: only the mock can break a link at a chosen operation.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "conformance/doomed.hpp"

namespace ompl::conformance {
namespace {

using conduit::mock::Fault;
using conduit::mock::Hostility;
using Ranks = std::vector<uint32_t>;

// As far as there is room for them.
Ranks failed_ranks(std::size_t room) {
  Ranks lowest(room);
  std::size_t count = 0;
  ok(ompl_failed_ranks(lowest.data(), room, &count));
  lowest.resize(std::min(room, count));
  std::size_t alone = 0;
  ok(ompl_failed_ranks(nullptr, 0, &alone));
  EXPECT_GE(alone, count);
  return lowest;
}

TEST(MockFailure, R18_WaitsEndWhenARankDiesAndBlockAgainOnceThatIsAcknowledged) {
  Doomed doomed({}, {.ranks = 3});
  std::atomic<uint32_t> acknowledged{0};
  doomed.run([&](Rank& r) {
    const uint64_t flag = r.allocate(8);
    doomed.settle(r, flag);
    if (r.rank == 2) {
      for (const uint32_t target : {0U, 1U}) ok(r.signal(target, flag));
      ok(r.quiet());
      doomed.wire().kill(2);
      return;
    }
    ok(r.wait(flag));
    EXPECT_EQ(r.wait(flag), OMPL_ERR_PEER);
    EXPECT_EQ(r.wait(flag), OMPL_ERR_PEER) << "and so it stays";
    EXPECT_TRUE(is_failure(r.signal(2, flag)));
    EXPECT_EQ(failed_ranks(3), Ranks{2});
    EXPECT_EQ(r.failure_ack(), 1);
    EXPECT_EQ(failed_ranks(3), Ranks{2}) << "acknowledged or not";
    EXPECT_EQ(r.wait(flag, 2'000'000), OMPL_ERR_TIMEOUT);
    ++acknowledged;
    while (acknowledged < 2) EXPECT_EQ(r.poll(flag), 0);
    // The survivors go on with each other.
    ok(r.signal(1 - r.rank, flag + 4));
    ok(r.wait(flag + 4));
    doomed.settle(r, flag, 3 + 2);
  });
}

// It may never come: what was sent on the link is lost.
TEST(MockFailure, R18_WaitsEndWhenALinkBreaksAndBlockAgainOnceThatIsAcknowledged) {
  Doomed doomed({}, {.ranks = 3, .endpoints = 1});
  doomed.run([&](Rank& r) {
    const uint64_t flag = r.allocate(8);
    doomed.settle(r, flag);
    if (r.rank != 0) return doomed.serve(r, flag);
    ok(r.signal(1, flag));
    doomed.wire().break_link(0, 0, 1);
    EXPECT_EQ(r.wait(flag + 4), OMPL_ERR_LINK);
    EXPECT_STREQ(error_detail(), "the connection broke to rank 1");
    EXPECT_EQ(r.wait(flag + 4), OMPL_ERR_LINK) << "and so it stays";
    EXPECT_EQ(failed_ranks(3), Ranks{1});
    EXPECT_EQ(r.failure_ack(), 1);
    EXPECT_EQ(r.wait(flag + 4, 2'000'000), OMPL_ERR_TIMEOUT);
    ok(r.signal(2, flag));  // the others are within reach
    doomed.done = true;
  });
}

TEST(MockFailure, R23_FailedRanksAreListedInOrder) {
  Doomed doomed({}, {.ranks = 5});
  std::atomic<uint32_t> done{0};
  doomed.run([&](Rank& r) {
    const uint64_t flag = r.allocate(8);
    doomed.settle(r, flag);
    if (r.rank == 1 || r.rank == 3) {
      while (r.rank == 1 && done < 1) ::sched_yield();
      return doomed.wire().kill(r.rank);
    }
    const Ranks later{1, 3};
    while (r.rank == 0 && failed_ranks(5) != Ranks{3}) static_cast<void>(r.poll(flag));
    if (r.rank == 0) done = 1;
    while (failed_ranks(5) != later) static_cast<void>(r.poll(flag));
    EXPECT_EQ(failed_ranks(1), Ranks{1});
    EXPECT_EQ(failed_ranks(0), Ranks{});
    ++done;
    while (done < 4) static_cast<void>(r.poll(flag));  // rank 0 counts twice
  });
}

// Deaths win: a rank that has stopped and dies before the last barrier has failed.
TEST(MockFailure, R29_AStoppedRankThatDiesHasFailed) {
  Doomed doomed({}, {.ranks = 3});
  std::atomic<uint32_t> seen{0};
  doomed.run([&](Rank& r) {
    const uint64_t flag = r.allocate(8);
    doomed.settle(r, flag);
    const auto stopped = [] {
      std::size_t count = 0;
      EXPECT_EQ(ompl_stopped_ranks(nullptr, 0, &count), OMPL_OK);
      return count;
    };
    if (r.rank == 2) {
      EXPECT_EQ(ompl_stop(), OMPL_OK);
      while (seen < 2) static_cast<void>(r.poll(flag));
      return doomed.wire().kill(r.rank);
    }
    while (stopped() != 1) static_cast<void>(r.poll(flag));
    ++seen;
    while (failed_ranks(3) != Ranks{2}) static_cast<void>(r.poll(flag));
    EXPECT_EQ(stopped(), 0U);
    ++seen;
    while (seen < 4) static_cast<void>(r.poll(flag));
  });
}

// A call that fails has its rank in the list at once, before anybody has looked for deaths.
TEST(MockFailure, R18_AFailedCallsRankIsListed) {
  Doomed doomed({.spurious_retry = 0}, {.endpoints = 1});
  doomed.run([&](Rank& r) {
    const uint64_t flag = r.allocate(8);
    doomed.settle(r, flag);
    if (r.rank == 1) return doomed.serve(r, flag);
    doomed.wire().break_link(0, 0, 1);
    while (!is_failure(r.signal(1, flag))) {
    }
    EXPECT_EQ(failed_ranks(2), Ranks{1});
    doomed.done = true;
  });
}

// Also a short put, which its context would keep, and by the fast path: each fails at once, and what was told stays told.
TEST(MockFailure, R18_EveryPutToARankKnownDeadFails) {
  for (const bool joined : {true, false}) {
    SCOPED_TRACE(joined);
    Doomed doomed(
        {.stalls_sender = joined, .max_fused_put = 64, .immediate_puts = joined, .spurious_retry = 0},
        {.ranks = 3});
    doomed.run([&](Rank& r) {
      const uint64_t data = r.allocate(8192);
      const uint64_t flag = r.allocate(8);
      const std::vector<std::byte> source(4096);
      if (r.rank == 0) ok(r.put_signal(source.data(), 1, data, 8, flag + 4));  // opens the fast path
      doomed.settle(r, flag);
      if (r.rank == 1) return doomed.wire().kill(1);
      while (r.rank == 2 && !doomed.done) static_cast<void>(r.poll(flag));
      if (r.rank == 2) return;
      EXPECT_EQ(r.wait(flag), OMPL_ERR_PEER);
      EXPECT_EQ(r.failure_ack(), 1);
      static_cast<void>(r.quiet());
      for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(is_failure(r.put(source.data(), 1, data, 8))) << i;
        EXPECT_TRUE(is_failure(r.put(source.data(), 1, data, source.size()))) << i;
        EXPECT_TRUE(is_failure(r.put_signal(source.data(), 1, data, 8, flag))) << i;
        EXPECT_NE(std::string(error_detail()).find("rank 1"), std::string::npos) << error_detail();
      }
      static_cast<void>(r.quiet());  // another endpoint may have taken a long one, and lost it
      ok(r.quiet());
      ok(r.put(source.data(), 2, data, 8));
      ok(r.flush());
      doomed.done = true;
    });
  }
}

TEST(MockFailure, R18_ABarrierWithADeadRankFails) {
  Doomed doomed({}, {.ranks = 3});
  doomed.run([&](Rank& r) {
    doomed.settle(r, r.allocate(4));
    if (r.rank == 1) {
      doomed.wire().kill(1);
      return;
    }
    EXPECT_EQ(r.barrier(), OMPL_ERR_PEER);
  });
}

// Only the two at its ends notice the break; the others learn of it from them.
TEST(MockFailure, R23_CollectivesOfAllRanksEndOnceTwoHaveLostEachOther) {
  Doomed doomed({.spurious_retry = 0}, {.ranks = 7, .endpoints = 1});
  std::atomic<uint32_t> done{0};
  doomed.run([&](Rank& r) {
    const uint64_t flag = r.allocate(8);
    doomed.settle(r, flag);
    if (r.rank == 0) {
      doomed.wire().break_link(0, 0, 1);
      while (!is_failure(r.signal(1, flag))) {
      }
    }
    uint64_t more = 0;
    EXPECT_TRUE(is_failure(r.barrier()));
    EXPECT_LE(r.failure_ack(), 1) << "who has not lost anybody knows of none";
    EXPECT_TRUE(is_failure(r.barrier())) << "acknowledged or not";
    EXPECT_TRUE(is_failure(r.alloc(64, &more)));
    EXPECT_TRUE(is_failure(r.free(flag)));
    if (r.rank > 1)
      ok(r.signal(r.rank == 6 ? 2 : r.rank + 1, flag + 4));  // the others reach each other
    if (r.rank > 1) ok(r.wait(flag + 4));
    ++done;
    while (done < r.size) static_cast<void>(r.poll(flag));
  });
}

TEST(MockFailure, R23_EveryRankLearnsOfADeathThatOneHasNoticed) {
  Doomed doomed({.spurious_retry = 0, .death_notice = false}, {.ranks = 6});
  std::atomic<uint32_t> done{0};
  doomed.run([&](Rank& r) {
    const uint64_t flag = r.allocate(8);
    doomed.settle(r, flag);
    if (r.rank == 5) return doomed.wire().kill(5);
    while (r.rank == 0 && !is_failure(r.signal(5, flag))) {
    }
    EXPECT_TRUE(is_failure(r.wait(flag + 4))) << "it waits for nobody in particular";
    EXPECT_EQ(r.failure_ack(), 1);
    ++done;
    while (done < r.size - 1) static_cast<void>(r.poll(flag));
  });
}

// A size that differs, or a wrong argument, at one rank.
TEST(MockCollectives, R20_UnlikeCallsAreAnErrorAtEveryRank) {
  const auto world =
      std::make_unique<ThreadWorld>(std::make_unique<MockFabric>(3, Hostility{}), Shape{.ranks = 3});
  world->run([&](Rank& r) {
    uint64_t first = 0;
    ok(r.alloc(64, &first));
    uint64_t second = 77;
    EXPECT_EQ(r.alloc(r.rank == 1 ? 65 : 64, &second), OMPL_ERR_ARG);
    EXPECT_EQ(r.alloc(r.rank == 1 ? 0 : 64, &second), OMPL_ERR_ARG);
    EXPECT_EQ(r.alloc(64, r.rank == 2 ? nullptr : &second), OMPL_ERR_ARG);
    EXPECT_EQ(r.rank == 0 ? r.alloc(64, &second) : r.free(first), OMPL_ERR_ARG);
    EXPECT_EQ(second, 77U);
    ok(r.alloc(64, &second));
    const uint64_t other = r.rank == 0 ? second : first;
    EXPECT_EQ(r.free(other), OMPL_ERR_ARG) << "nothing was freed";
    ok(r.signal(r.right(), first));
    ok(r.wait(first));
    ok(r.free(first));
    ok(r.free(second));
  });
}

TEST(MockFailure, R18_WhatIsOutstandingOnABrokenLinkFails) {
  for (const bool is_put : {true, false}) {
    SCOPED_TRACE(is_put);
    Doomed doomed({}, {.endpoints = 1});
    doomed.run([&](Rank& r) {
      const uint64_t data = r.allocate(4096);
      const uint64_t flag = r.allocate(4);
      std::vector<std::byte> local(4096);
      doomed.settle(r, flag);
      if (r.rank == 0) {
        // Rank 1 stays outside, so this cannot complete.
        EXPECT_EQ(is_put ? r.put(local.data(), 1, data, 4096) : r.get(local.data(), 1, data, 4096),
                  OMPL_ERR_LINK);
        EXPECT_EQ(r.flush(), OMPL_ERR_LINK);
        EXPECT_EQ(r.flush(), OMPL_OK) << "told once";
        EXPECT_EQ(r.put(local.data(), 1, data, 8), OMPL_ERR_LINK) << "nothing is sent there any more";
        doomed.done = true;
        return;
      }
      while (doomed.wire().counts().posted_data == 0) ::sched_yield();
      doomed.wire().break_link(0, 0, 1);
      doomed.serve(r, flag);
    });
  }
}

// Two of three links carry their segments to the end: what broke is told once more, and nothing is forgotten, unless the
// thread ends: its context's next one has put nothing. More segments are to follow, or all are under way.
TEST(MockFailure, R18_ALongPutFailsWithOneOfItsLinks) {
  constexpr std::size_t kSegment = 1000;
  constexpr std::size_t kMost = 40 * kSegment;
  for (const bool asked : {false, true}) {
    for (const std::size_t length : {kMost, 12 * kSegment}) {
      SCOPED_TRACE(length);
      Doomed doomed({.segment = kSegment,
                     .stripes = 3,
                     .inline_limit = 0,
                     .spurious_retry = 0,
                     .fails_when_asked = asked},
                    {.endpoints = 3});
      std::atomic<uint64_t> before{UINT64_MAX};
      std::atomic<uint64_t> flags{0};
      doomed.run([&](Rank& r) {
        const uint64_t data = r.allocate(kMost);
        const uint64_t flag = r.allocate(8);
        flags = flag;
        const std::vector<std::byte> first = pattern(kMost, 1);
        const std::vector<std::byte> second = pattern(length, 2);
        if (r.rank == 0) ok(r.put(first.data(), 1, data, kMost));  // connects
        doomed.settle(r, flag);
        auto& posted = doomed.wire().counts().posted_data;
        if (r.rank == 1) {
          while (before == UINT64_MAX || posted < before + 12) ::sched_yield();  // outside the layer
          EXPECT_EQ(posted, before + 12) << "three links, four segments each";
          doomed.wire().break_link(0, 1, 1);
          return doomed.serve(r, flag);
        }
        before = posted.load();
        EXPECT_EQ(r.put(second.data(), 1, data, length), OMPL_ERR_LINK);
        EXPECT_TRUE(is_failure(r.signal(1, flag))) << "the data before it are not all there";
        if (!asked) {
          EXPECT_EQ(r.flush(), OMPL_ERR_LINK);
          EXPECT_EQ(r.flush(), OMPL_OK) << "told once";
        }
        doomed.done = true;
      });
      doomed.run([&](Rank& r) { ok(r.rank == 0 ? r.signal(1, flags + 4) : r.wait(flags + 4)); });
    }
  }
}

// Handles, atomics and callbacks of a rank that dies before it answers: each ends with the error, in every way to
// wait for it, and a reply that comes late finds nobody.
TEST(MockFailure, R11_WhatAwaitsADeadRankEndsWithTheError) {
  for (const bool remote_completion : {true, false}) {
    SCOPED_TRACE(remote_completion);
    Doomed doomed({.remote_completion = remote_completion, .spurious_retry = 0});
    std::atomic<bool> posted{false};
    doomed.run([&](Rank& r) {
      const uint64_t data = r.allocate(4096);
      const uint64_t flag = r.allocate(16);
      doomed.settle(r, flag);
      if (r.rank == 1) {
        while (!posted) ::sched_yield();  // outside the layer: nothing is answered
        doomed.wire().kill(1);
        while (!doomed.done) ::sched_yield();
        return;
      }
      const std::vector<std::byte> local(4096);
      std::array<uint64_t, 3> before{};
      std::array<ompl_handle, 6> handles{};
      std::array<int, 2> codes{OMPL_OK, OMPL_OK};
      ompl_watch watch;
      const ompl_condition never{.flag_addr = flag, .value = 0, .comparison = OMPL_TAKE, .width = 32};
      const auto note = [](void* code, int outcome) { *static_cast<int*>(code) = outcome; };
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(ompl_put_nb(r.ctx(), address(local.data()), 1, data, 4096, nullptr, 0, &handles[i]),
                  OMPL_PENDING);
        EXPECT_EQ(
            ompl_atomic64_nb(r.ctx(), 1, flag + 8, OMPL_ATOMIC_ADD, 1, 0, &before[i], &handles[3 + i]),
            OMPL_PENDING);
      }
      ok(ompl_handle_then(&handles[0], note, codes.data()));
      ok(ompl_flag_then(&watch, &never, note, &codes[1]));
      posted = true;
      EXPECT_TRUE(is_failure(ompl_handle_wait(r.ctx(), &handles[1], OMPL_FOREVER)));
      EXPECT_TRUE(is_failure(ompl_handle_wait(r.ctx(), &handles[3], OMPL_FOREVER)));
      std::size_t which = 9;
      EXPECT_TRUE(is_failure(ompl_handle_wait_any(r.ctx(), &handles[2], 2, &which, OMPL_FOREVER)));
      EXPECT_TRUE(is_failure(ompl_handle_wait_all(r.ctx(), &handles[1], 5, OMPL_FOREVER)));
      for (std::size_t i = 1; i < 6; ++i) EXPECT_EQ(ompl_handle_test(r.ctx(), &handles[i]), 1) << i;
      uint64_t value = 7;
      EXPECT_TRUE(is_failure(ompl_fetch_add64(1, flag + 8, 1, &value)));
      EXPECT_EQ(value, 7U);
      while (codes[0] == OMPL_OK || codes[1] == OMPL_OK)
        if (ompl_progress(r.ctx(), 1'000'000) < 0) break;
      EXPECT_TRUE(is_failure(codes[0])) << codes[0];
      EXPECT_EQ(codes[1], OMPL_ERR_PEER);
      EXPECT_EQ(ompl_ctx_wait_until(r.ctx(), &never, OMPL_FOREVER), OMPL_ERR_PEER);
      EXPECT_EQ(ompl_ctx_wait_all(r.ctx(), &never, 1, OMPL_FOREVER), OMPL_ERR_PEER);
      doomed.done = true;
    });
  }
}

// An add is not idempotent: what was taken in before the link broke may arrive or not, but never twice, and what
// was refused never arrives.
TEST(MockFailure, R18_NothingIsSentAgain) {
  constexpr uint64_t kSetUp = 20;  // more records than two ranks exchange until they have settled
  for (uint64_t after = 0; after < 40; after += 3) {
    for (const auto kind :
         {Fault::Kind::break_link, Fault::Kind::fail_post, Fault::Kind::break_endpoint}) {
      SCOPED_TRACE(std::to_string(after) + ", kind " + std::to_string(static_cast<int>(kind)));
      Doomed doomed({.seed = after + 1,
                     .faults = {{.kind = kind, .rank = 0, .peer = 1, .after = after + kSetUp}}},
                    {.endpoints = 1});
      std::atomic<uint32_t> accepted{0};
      doomed.run([&](Rank& r) {
        const uint64_t flag = r.allocate(4);
        doomed.settle(r, flag);
        if (r.rank == 1) {
          if (kind == Fault::Kind::break_endpoint) {  // closed, as if its rank had left after an error
            while (!doomed.done) static_cast<void>(r.poll(flag));
            for (int i = 0; i < 1000; ++i) static_cast<void>(r.poll(flag));
          } else {
            doomed.serve(r, flag);
          }
          EXPECT_LE(r.count(flag), accepted);
          return;
        }
        int code = OMPL_OK;
        for (int i = 0; i < 200 && code == OMPL_OK; ++i) {
          code = r.signal(1, flag);
          if (code == OMPL_OK) ++accepted;
        }
        EXPECT_EQ(code, OMPL_ERR_LINK);
        EXPECT_EQ(r.signal(1, flag), OMPL_ERR_LINK);
        const int completed = r.quiet();
        EXPECT_TRUE(completed == OMPL_ERR_LINK || accepted == 0) << completed;
        doomed.done = true;
      });
    }
  }
}

// A context that only signalled learns of the loss at its quiet, one that put at its flush; also if it becomes known while
// they look.
TEST(MockFailure, R18_FlushAndQuietTellOfTheLoss) {
  for (const unsigned way : {0, 1, 2, 3, 4, 5, 6, 7}) {
    SCOPED_TRACE(way);
    const bool with_data = (way & 1) != 0;
    Doomed doomed({.remote_completion = (way & 2) != 0, .fails_when_asked = (way & 4) != 0},
                  {.endpoints = 1});
    doomed.run([&](Rank& r) {
      const uint64_t data = r.allocate(64);
      const uint64_t flag = r.allocate(4);
      doomed.settle(r, flag);
      if (r.rank == 1) {
        while (!doomed.done) ::sched_yield();  // outside: nothing arrives
        return;
      }
      const uint64_t value = 1;
      ok(with_data ? r.put(&value, 1, data, sizeof value) : r.signal(1, flag));
      doomed.wire().break_link(0, 0, 1);
      EXPECT_EQ(with_data ? r.flush() : r.quiet(), OMPL_ERR_LINK);
      doomed.done = true;
    });
  }
}

// All ranks talk to all; one dies at some moment. Every survivor's call returns, and soon one with an error.
TEST(MockFailure, R18_ADeathAtAnyMomentHangsNobody) {
  for (uint64_t seed = 1; seed <= rounds(30); ++seed) {
    SCOPED_TRACE(seed);
    Doomed doomed({.seed = seed, .remote_completion = seed % 2 == 0, .send_depth = 4},
                  {.ranks = 3, .endpoints = 2, .credits = 8});
    std::atomic<uint64_t> data{0};
    std::atomic<uint64_t> flag{0};
    doomed.run([&](Rank& r) {
      data = r.allocate(r.size * 1024);
      flag = r.allocate(4);
    });
    doomed.run(
        [&](Rank& r) {
          const auto source = pattern(512, seed);
          const uint64_t place = data + (r.rank * 2 + r.thread) * 512;
          for (uint64_t i = 0;; ++i) {
            if (r.rank == 1 && i == seed % 11) {
              if (r.thread == 0) doomed.wire().kill(1);
              return;
            }
            int code = OMPL_OK;
            for (uint32_t target = 0; target < r.size && code == OMPL_OK; ++target)
              code = r.put_signal(source.data(), target, place, 512, flag);
            if (code == OMPL_OK) code = i % 3 == 0 ? r.quiet() : r.wait(flag);
            EXPECT_TRUE(code == OMPL_OK || is_failure(code)) << code;
            if (code == OMPL_OK) continue;
            doomed.wire().kill(r.rank);  // as if it exited: the others must not wait for it
            return;
          }
        },
        2);
  }
}

TEST(MockFailure, R20_AllocFailsEverywhereIfOneRankIsShort) {
  const Hostility hostility{.registration_limit = 1 << 16, .limited_rank = 1};
  ThreadWorld world(std::make_unique<MockFabric>(3, hostility), {.ranks = 3, .pack = "never"});
  world.run([](Rank& r) {
    uint64_t offset = 7;
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(r.alloc(1 << 17, &offset), OMPL_ERR_MEMORY) << "rank " << r.rank;
    EXPECT_EQ(offset, 7U);
    const uint64_t data = r.allocate(1 << 12);
    const uint64_t flag = r.allocate(4);
    const auto source = pattern(1 << 12, r.rank);
    ok(r.put_signal(source.data(), r.right(), data, source.size(), flag));
    ok(r.wait(flag));
    EXPECT_EQ(mismatch(r.own(data), 1 << 12, r.left()), 1U << 12);
  });
}

}  // namespace
}  // namespace ompl::conformance
