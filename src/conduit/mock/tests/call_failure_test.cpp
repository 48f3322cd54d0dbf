// SPDX-License-Identifier: BSD-3-Clause
// Remote calls when ranks die: handles and calls end with the error, and the ring of a rank that died serves another one.
#include <sched.h>

#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include "conformance/doomed.hpp"
#include "conformance/rules/call_rules.hpp"

namespace ompl::conformance {
namespace {

using conduit::mock::Hostility;

ompl_call_request with_number(uint32_t function, const uint64_t* number) {
  return request(function, number, sizeof *number);
}

// Once the room is used up a blocking call waits for a rank that is outside the layer, and then dead.
TEST(MockFailure, R26_WhatWasCalledAtADeadRankEndsWithTheError) {
  for (const bool remote_completion : {true, false}) {
    SCOPED_TRACE(remote_completion);
    Doomed doomed({.remote_completion = remote_completion, .spurious_retry = 0});
    States states(2);
    std::atomic<bool> posted{false};
    doomed.run([&](Rank& r) {
      const uint64_t flag = r.allocate(8);
      states.of(r).function = add("plus_source", plus_source, &states.of(r));
      const uint64_t number = 4;
      const ompl_call_request call = with_number(states.of(r).function, &number);
      uint64_t reply = 0;
      ok(ompl_call(r.ctx(), 1, &call, &reply, OMPL_FOREVER));  // both have a ring there
      doomed.settle(r, flag);
      if (r.rank == 1) {
        while (!posted) ::sched_yield();
        doomed.wire().kill(1);
        while (!doomed.done) ::sched_yield();
        return;
      }
      std::array<ompl_handle, 3> handles{};
      std::array<uint64_t, 3> replies{7, 7, 7};
      for (std::size_t i = 0; i < handles.size(); ++i)
        EXPECT_EQ(ompl_call_nb(r.ctx(), 1, &call, &replies[i], &handles[i]), OMPL_PENDING);
      int code = OMPL_OK;
      ok(ompl_handle_then(
          &handles[0], [](void* told, int outcome) { *static_cast<int*>(told) = outcome; }, &code));
      int last = OMPL_OK;
      for (int i = 0; i < 1000 && last == OMPL_OK; ++i) {
        if (i == 3) posted = true;
        last = ompl_call(r.ctx(), 1, &call, nullptr, OMPL_FOREVER);
      }
      EXPECT_TRUE(is_failure(last)) << last;
      EXPECT_TRUE(is_failure(ompl_handle_wait(r.ctx(), &handles[1], OMPL_FOREVER)));
      EXPECT_TRUE(is_failure(ompl_handle_wait_all(r.ctx(), &handles[2], 1, OMPL_FOREVER)));
      while (code == OMPL_OK && ompl_progress(r.ctx(), 1'000'000) >= 0) {
      }
      EXPECT_TRUE(is_failure(code)) << code;
      EXPECT_TRUE(is_failure(ompl_call(r.ctx(), 1, &call, &replies[0], OMPL_FOREVER)));
      EXPECT_TRUE(is_failure(ompl_call_nb(r.ctx(), 1, &call, &replies[0], &handles[0])));
      EXPECT_EQ(replies[0], 7U);
      doomed.done = true;
    });
  }
}

// 1,000 nodes of 100 ranks: all may call one.
TEST(MockCalls, MemoryIsBoundedInALargeJob) {
  constexpr uint32_t kRanks = 100'000;
  const calls::Layout layout(kRanks, std::size_t{2} << 20);
  EXPECT_TRUE(layout.has_bells());
  EXPECT_LE(layout.bytes(), std::size_t{3} << 20);
  EXPECT_LE(layout.ranks_of_mark() * 64 - kRanks, 64U);
  EXPECT_LT(kRanks / layout.ranks_of_mark(), 64U);
}

// Ranks with one ring each.
class OneRing final : public MockFabric {
 public:
  using MockFabric::MockFabric;
  void tune(uint32_t rank, Settings* settings) const override {
    MockFabric::tune(rank, settings);
    settings->call_memory = 1;
  }
};

TEST(MockFailure, R26_TheRingOfARankThatDiedIsGivenBack) {
  log::set_level(log::Level::off);
  auto fabric = std::make_unique<OneRing>(3, Hostility{.spurious_retry = 0});
  conduit::mock::Wire& wire = fabric->wire();
  ThreadWorld world(std::move(fabric), {.ranks = 3, .ends_well = false});
  States states(3);
  std::atomic<int> step{0};
  world.run([&](Rank& r) {
    states.of(r).function = add("plus_source", plus_source, &states.of(r));
    const uint64_t number = 4;
    const ompl_call_request call = with_number(states.of(r).function, &number);
    uint64_t reply = 0;
    const auto serve = [&](int until_step) {
      while (step < until_step) {
        EXPECT_GE(ompl_progress(r.ctx(), 0), OMPL_ERR_LINK);
        ::sched_yield();
      }
    };
    if (r.rank == 0) return serve(3);
    if (r.rank == 1) {
      for (int i = 0; i < 150; ++i)
        ok(ompl_call(r.ctx(), 0, &call, i % 2 == 0 ? &reply : nullptr, OMPL_FOREVER));
      ok(ompl_call(r.ctx(), 0, &call, &reply, OMPL_FOREVER));
      EXPECT_EQ(reply, 5U);
      step = 1;
      serve(2);
      wire.kill(1);
      return;
    }
    serve(1);
    // Whose the only ring of rank 0 is, and one more. The memory of calls is the first allocation.
    const calls::Layout layout(3, 1);
    const auto owner = [&] {
      std::byte* const base = world.runtime(0).memory.segment().base();
      return arch::word32(base + kFirstOffset + layout.owner(0)).load();
    };
    EXPECT_EQ(owner(), 2U);
    step = 2;
    while (owner() != 0) ::sched_yield();
    ok(ompl_call(r.ctx(), 0, &call, &reply, OMPL_FOREVER));
    EXPECT_EQ(owner(), 3U);
    EXPECT_EQ(reply, 6U);
    for (int i = 0; i < 150; ++i) ok(ompl_call(r.ctx(), 0, &call, nullptr, OMPL_FOREVER));
    ok(ompl_call(r.ctx(), 0, &call, &reply, OMPL_FOREVER));
    EXPECT_EQ(states.of(r).counts[0], 0U);
    step = 3;
  });
}

// All ranks call all; one dies at some moment. Every survivor's call returns, and soon one with an error.
TEST(MockFailure, R26_ADeathAtAnyMomentOfCallsHangsNobody) {
  for (uint64_t seed = 1; seed <= rounds(20); ++seed) {
    SCOPED_TRACE(seed);
    Doomed doomed({.seed = seed, .remote_completion = seed % 2 == 0, .send_depth = 4},
                  {.ranks = 3, .endpoints = 2, .credits = 8});
    States states(3);
    doomed.run(
        [&](Rank& r) { states.of(r).function = add("plus_source", plus_source, &states.of(r)); });
    doomed.run(
        [&](Rank& r) {
          for (uint64_t i = 0;; ++i) {
            if (r.rank == 1 && i == 7 * seed % 31) {
              if (r.thread == 0) doomed.wire().kill(1);
              return;
            }
            const ompl_call_request call = with_number(states.of(r).function, &i);
            uint64_t reply = 0;
            int code = OMPL_OK;
            for (uint32_t target = 0; target < r.size && code == OMPL_OK; ++target)
              code = ompl_call(r.ctx(), target, &call, i % 3 == 0 ? &reply : nullptr, OMPL_FOREVER);
            EXPECT_TRUE(code == OMPL_OK || is_failure(code)) << code << ": " << error_detail();
            if (code == OMPL_OK) continue;
            doomed.wire().kill(r.rank);  // as if it exited: the others must not wait for it
            return;
          }
        },
        2);
  }
}

}  // namespace
}  // namespace ompl::conformance
