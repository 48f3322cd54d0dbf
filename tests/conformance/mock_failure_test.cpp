// SPDX-License-Identifier: BSD-3-Clause
// What the core does when the network fails: only the mock can break a link at a chosen operation.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>

#include "mock_fabric.hpp"
#include "omnipgas/coll.h"

namespace ompl::conformance {
namespace {

using conduit::mock::Fault;
using conduit::mock::Hostility;
using conduit::mock::Wire;

// A world of which the test holds the wire; it ends without finalize.
class Doomed {
 public:
  explicit Doomed(const Hostility& hostility, const Shape& shape = {})
      : fabric_(std::make_unique<MockFabric>(shape.ranks, hostility)),
        wire_(fabric_->wire()),
        world_(std::move(fabric_), doomed(shape)) {
    log::set_level(log::Level::off);
  }
  void run(const Body& body, unsigned threads = 1) { world_.run(body, threads); }
  Wire& wire() { return wire_; }

 private:
  static Shape doomed(Shape shape) {
    shape.ends_well = false;
    return shape;
  }
  std::unique_ptr<MockFabric> fabric_;  // until the world has it
  Wire& wire_;
  ThreadWorld world_;
};

bool is_failure(int code) { return code == OMPL_ERR_PEER || code == OMPL_ERR_LINK; }

// Drives progress until the others are done with what needs it.
void serve(Rank& r, uint64_t flag, const std::atomic<bool>& done) {
  while (!done) {
    EXPECT_GE(r.poll(flag), 0);
    ::sched_yield();
  }
  for (int i = 0; i < 1000; ++i) EXPECT_GE(r.poll(flag), 0);
}

// Returns once nothing is under way between the ranks, `count` in number: a failure then takes only what the test
// sends, and who leaves the layer holds up nobody. `settled` is shared by the ranks, 0 at first.
void settle(Rank& r, uint64_t flag, std::atomic<uint32_t>& settled, uint32_t count) {
  ok(r.quiet());
  ++settled;
  while (settled < count) {
    EXPECT_GE(r.poll(flag), 0);  // 1 if another rank has settled already and goes on
    ::sched_yield();
  }
}

TEST(MockFailure, R18_WaitsEndWhenARankDiesAndBlockAgainOnceThatIsAcknowledged) {
  Doomed doomed({}, {.ranks = 3});
  std::atomic<uint32_t> settled{0};
  std::atomic<uint32_t> acknowledged{0};
  doomed.run([&](Rank& r) {
    const uint64_t flag = r.allocate(8);
    settle(r, flag, settled, r.size);
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
    EXPECT_EQ(r.failure_ack(), 1);
    EXPECT_EQ(r.wait(flag, 2'000'000), OMPL_ERR_TIMEOUT);
    ++acknowledged;
    while (acknowledged < 2) EXPECT_EQ(r.poll(flag), 0);
    // The survivors go on with each other.
    ok(r.signal(1 - r.rank, flag + 4));
    ok(r.wait(flag + 4));
    settle(r, flag, settled, 3 + 2);
  });
}

// It may never come: what was sent on the link is lost.
TEST(MockFailure, R18_WaitsEndWhenALinkBreaksAndBlockAgainOnceThatIsAcknowledged) {
  Doomed doomed({}, {.ranks = 3, .endpoints = 1});
  std::atomic<uint32_t> settled{0};
  std::atomic<bool> done{false};
  doomed.run([&](Rank& r) {
    const uint64_t flag = r.allocate(8);
    settle(r, flag, settled, r.size);
    if (r.rank != 0) return serve(r, flag, done);
    ok(r.signal(1, flag));
    doomed.wire().break_link(0, 0, 1);
    EXPECT_EQ(r.wait(flag + 4), OMPL_ERR_LINK);
    EXPECT_STREQ(error_detail(), "the connection broke to rank 1");
    EXPECT_EQ(r.wait(flag + 4), OMPL_ERR_LINK) << "and so it stays";
    EXPECT_EQ(r.failure_ack(), 1);
    EXPECT_EQ(r.wait(flag + 4, 2'000'000), OMPL_ERR_TIMEOUT);
    ok(r.signal(2, flag));  // the others are within reach
    done = true;
  });
}

TEST(MockFailure, R18_ABarrierWithADeadRankFails) {
  Doomed doomed({}, {.ranks = 3});
  std::atomic<uint32_t> settled{0};
  doomed.run([&](Rank& r) {
    settle(r, r.allocate(4), settled, r.size);
    if (r.rank == 1) {
      doomed.wire().kill(1);
      return;
    }
    EXPECT_EQ(r.barrier(), OMPL_ERR_PEER);
  });
}

// Each member of the ring needs what the dead one would have combined; who is left makes a new team.
TEST(MockFailure, R18_ACollectiveWhoseMemberDiesInTheMiddleFailsAtAllOthers) {
  constexpr std::size_t kCount = 200'000;
  Doomed doomed({}, {.ranks = 3});
  std::atomic<uint32_t> settled{0};
  doomed.run([&](Rank& r) {
    ompl_team* team = nullptr;
    ok(ompl_team_world(&team));
    const uint64_t flag = r.allocate(4);
    settle(r, flag, settled, r.size);
    const std::vector<uint64_t> mine(kCount, r.rank);
    std::vector<uint64_t> sum(kCount);
    ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
    options.algorithm = OMPL_COLL_RING;
    ompl_request* request = nullptr;
    ok(ompl_allreduce(team, mine.data(), sum.data(), kCount, OMPL_UINT64, OMPL_SUM, &options,
                      &request));
    if (r.rank == 1) {
      EXPECT_EQ(ompl_request_test(r.ctx(), &request), 0);
      doomed.wire().kill(1);
      return;
    }
    EXPECT_TRUE(is_failure(ompl_request_wait(r.ctx(), &request, OMPL_FOREVER)));
    int code = 0;
    while (request != nullptr && code == 0) code = ompl_request_test(r.ctx(), &request);
    EXPECT_EQ(request, nullptr);
    EXPECT_TRUE(is_failure(ompl_team_barrier(team, nullptr, nullptr))) << "and so it stays";
    EXPECT_EQ(ompl_failure_ack(), 1);
    EXPECT_TRUE(is_failure(ompl_team_barrier(team, nullptr, nullptr)));
    const std::array<uint32_t, 2> left{0, 2};
    ok(ompl_team_create(left.data(), left.size(), nullptr, &team));
    ok(ompl_allreduce(team, mine.data(), sum.data(), kCount, OMPL_UINT64, OMPL_SUM, nullptr, nullptr));
    EXPECT_EQ(std::ranges::count(sum, 2U), std::ssize(sum));
    static_cast<void>(r.quiet());  // what was sent to the dead rank is told once
    settle(r, flag, settled, 3 + 2);
  });
}

// Of those left all or only one have tried to make, or to end, a team with the dead one.
TEST(MockFailure, R18_TeamsCanBeMadeAfterOneCouldNot) {
  const std::array<uint32_t, 3> all{0, 1, 2};
  const std::array<uint32_t, 2> left{0, 2};
  for (const bool both_try : {true, false}) {
    SCOPED_TRACE(both_try);
    Doomed doomed({}, {.ranks = 3});
    std::atomic<uint32_t> settled{0};
    doomed.run([&](Rank& r) {
      ompl_team* team = nullptr;
      ompl_team* old = nullptr;
      ok(ompl_team_world(&team));
      ok(ompl_team_create(all.data(), all.size(), nullptr, &old));
      const uint64_t flag = r.allocate(4);
      settle(r, flag, settled, r.size);
      if (r.rank == 1) {
        doomed.wire().kill(1);
        return;
      }
      if (both_try || r.rank == 0) {
        ompl_team* none = nullptr;
        EXPECT_TRUE(is_failure(ompl_team_create(all.data(), all.size(), nullptr, &none)));
        EXPECT_EQ(none, nullptr);
        EXPECT_TRUE(is_failure(ompl_team_create(all.data(), all.size(), nullptr, &none)));
        EXPECT_TRUE(is_failure(ompl_team_destroy(old)));
      }
      EXPECT_TRUE(is_failure(r.wait(flag)));
      EXPECT_EQ(ompl_failure_ack(), 1);
      for (uint32_t round = 0; round < 20; ++round) {
        ok(ompl_team_create(left.data(), left.size(), nullptr, &team));
        uint64_t sum = r.rank;
        ok(ompl_allreduce(team, OMPL_IN_PLACE, &sum, 1, OMPL_UINT64, OMPL_SUM, nullptr, nullptr));
        EXPECT_EQ(sum, 2U);
        ok(ompl_team_destroy(team));
      }
      static_cast<void>(r.quiet());  // what was sent to the dead rank is told once
      settle(r, flag, settled, 3 + 2);
    });
  }
}

TEST(MockFailure, R18_WhatIsOutstandingOnABrokenLinkFails) {
  for (const bool is_put : {true, false}) {
    SCOPED_TRACE(is_put);
    Doomed doomed({}, {.endpoints = 1});
    std::atomic<uint32_t> settled{0};
    std::atomic<bool> done{false};
    doomed.run([&](Rank& r) {
      const uint64_t data = r.allocate(4096);
      const uint64_t flag = r.allocate(4);
      std::vector<std::byte> local(4096);
      settle(r, flag, settled, r.size);
      if (r.rank == 0) {
        // Rank 1 stays outside, so this cannot complete.
        EXPECT_EQ(is_put ? r.put(local.data(), 1, data, 4096) : r.get(local.data(), 1, data, 4096),
                  OMPL_ERR_LINK);
        EXPECT_EQ(r.flush(), OMPL_ERR_LINK);
        EXPECT_EQ(r.flush(), OMPL_OK) << "told once";
        EXPECT_EQ(r.put(local.data(), 1, data, 8), OMPL_ERR_LINK) << "nothing is sent there any more";
        done = true;
        return;
      }
      while (doomed.wire().counts().posted_data == 0) ::sched_yield();
      doomed.wire().break_link(0, 0, 1);
      serve(r, flag, done);
    });
  }
}

// Two of three links carry their segments to the end: what broke is told once more, and nothing is forgotten.
TEST(MockFailure, R18_ALongPutFailsWithOneOfItsLinks) {
  constexpr std::size_t kSegment = 1000;
  constexpr std::size_t kLength = 40 * kSegment;
  Doomed doomed({.segment = kSegment, .stripes = 3, .inline_limit = 0}, {.endpoints = 3});
  std::atomic<uint32_t> settled{0};
  std::atomic<bool> done{false};
  std::atomic<uint64_t> before{UINT64_MAX};
  doomed.run([&](Rank& r) {
    const uint64_t data = r.allocate(kLength);
    const uint64_t flag = r.allocate(4);
    const std::vector<std::byte> first = pattern(kLength, 1);
    const std::vector<std::byte> second = pattern(kLength, 2);
    if (r.rank == 0) ok(r.put(first.data(), 1, data, kLength));  // connects
    settle(r, flag, settled, r.size);
    auto& posted = doomed.wire().counts().posted_data;
    if (r.rank == 1) {
      while (before == UINT64_MAX || posted < before + 12) ::sched_yield();  // outside the layer
      EXPECT_EQ(posted, before + 12) << "three links, four segments each";
      doomed.wire().break_link(0, 1, 1);
      return serve(r, flag, done);
    }
    before = posted.load();
    EXPECT_EQ(r.put(second.data(), 1, data, kLength), OMPL_ERR_LINK);
    EXPECT_TRUE(is_failure(r.signal(1, flag))) << "the data before it are not all there";
    EXPECT_EQ(r.flush(), OMPL_ERR_LINK);
    EXPECT_EQ(r.flush(), OMPL_OK) << "told once";
    done = true;
  });
}

// Handles, atomics and callbacks of a rank that dies before it answers: each ends with the error, in every way to
// wait for it, and a reply that comes late finds nobody.
TEST(MockFailure, R11_WhatAwaitsADeadRankEndsWithTheError) {
  for (const bool remote_completion : {true, false}) {
    SCOPED_TRACE(remote_completion);
    Doomed doomed({.remote_completion = remote_completion});
    std::atomic<uint32_t> settled{0};
    std::atomic<bool> done{false};
    std::atomic<bool> posted{false};
    doomed.run([&](Rank& r) {
      const uint64_t data = r.allocate(4096);
      const uint64_t flag = r.allocate(16);
      settle(r, flag, settled, r.size);
      if (r.rank == 1) {
        while (!posted) ::sched_yield();  // outside the layer: nothing is answered
        doomed.wire().kill(1);
        while (!done) ::sched_yield();
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
      done = true;
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
      std::atomic<uint32_t> settled{0};
      std::atomic<bool> done{false};
      std::atomic<uint32_t> accepted{0};
      doomed.run([&](Rank& r) {
        const uint64_t flag = r.allocate(4);
        settle(r, flag, settled, r.size);
        if (r.rank == 1) {
          serve(r, flag, done);
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
        done = true;
      });
    }
  }
}

// A context that only signalled learns of the loss at its quiet, one that put at its flush.
TEST(MockFailure, R18_FlushAndQuietTellOfTheLoss) {
  for (const bool with_data : {true, false}) {
    SCOPED_TRACE(with_data);
    Doomed doomed({.remote_completion = false}, {.endpoints = 1});
    std::atomic<uint32_t> settled{0};
    std::atomic<bool> done{false};
    doomed.run([&](Rank& r) {
      const uint64_t data = r.allocate(64);
      const uint64_t flag = r.allocate(4);
      settle(r, flag, settled, r.size);
      if (r.rank == 1) {
        while (!done) ::sched_yield();  // outside: nothing arrives
        return;
      }
      const uint64_t value = 1;
      ok(with_data ? r.put(&value, 1, data, sizeof value) : r.signal(1, flag));
      doomed.wire().break_link(0, 0, 1);
      EXPECT_EQ(with_data ? r.flush() : r.quiet(), OMPL_ERR_LINK);
      done = true;
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
  ThreadWorld world(std::make_unique<MockFabric>(3, hostility), {.ranks = 3});
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
