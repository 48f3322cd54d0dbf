// SPDX-License-Identifier: BSD-3-Clause
// What functions that other ranks call may do and may not, whom a call wakes, and the ends of a job with calls.
#include <array>
#include <chrono>
#include <stdexcept>

#include "call_rules.hpp"

namespace ompl::conformance {
namespace {

// A rank that sleeps in any wait is woken for a call, which then signals what it waits for.
uint64_t raise_flag(void* user, const ompl_call_context* call) {
  auto& state = *static_cast<RankState*>(user);
  if (ompl_put_word(state.rank, argument<uint64_t>(*call)) != OMPL_OK) ++state.wrong;
  return 0;
}

TEST_P(Conformance, Calls_R26_WakeWhoSleeps) {
  const auto w = world({.ranks = 2});
  const uint64_t flags = w->allocate(4096);
  States states(2);
  w->run([&](Rank& r) {
    RankState& mine = states.of(r);
    mine.rank = r.rank;
    mine.function = add("raise_flag", raise_flag, &mine);
    ok(r.barrier());
    for (uint32_t i = 0; r.size == 2 && i < rounds(20); ++i) {
      const uint64_t flag = flags + 4 * (17 * i % 1000);
      if (r.rank == 0) {
        ok(r.wait(flag));
        ok(r.signal(1, flag));
      } else {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
        while (std::chrono::steady_clock::now() < limit)
          ASSERT_EQ(r.poll(flag), 0);  // the other falls asleep
        const ompl_call_request call = request(mine.function, &flag, sizeof flag);
        ok(ompl_call(r.ctx(), 0, &call, nullptr, OMPL_FOREVER));
        ok(r.wait(flag));
      }
    }
    EXPECT_EQ(mine.wrong, 0U);
  });
}

// Functions that put, signal and call, so many that rings are full both ways: none is lost, nobody hangs.
struct Hop {
  uint32_t left, origin;
};

uint64_t hop(void* user, const ompl_call_context* call) {
  auto& state = *static_cast<RankState*>(user);
  auto told = argument<Hop>(*call);
  const uint64_t number = state.sum++;
  if (told.left == 0) {
    if (ompl_put_word(told.origin, state.memory) != OMPL_OK) ++state.wrong;
    return 0;
  }
  --told.left;
  const uint64_t mark = told.left;
  const uint32_t to = (state.rank + 1) % state.size;
  if (ompl_put(address(&mark), to, state.memory + 64 + 8 * number, sizeof mark) != OMPL_OK)
    ++state.wrong;
  const ompl_call_request further = request(state.function, &told, sizeof told);
  if (ompl_call(call->context, to, &further, nullptr, OMPL_FOREVER) != OMPL_OK) ++state.wrong;
  return 0;
}

TEST_P(Conformance, Calls_R26_FunctionsCallOnWithFullRings) {
  constexpr unsigned kThreads = 2;
  const auto w = world({.ranks = 3, .endpoints = 2});
  const uint32_t each = rounds(600);
  const uint64_t memory = w->allocate(64 + std::size_t{8} * 6 * each * kThreads);
  States states(3);
  w->run([&](Rank& r) {
    RankState& mine = states.of(r);
    mine.memory = memory;
    mine.rank = r.rank;
    mine.size = r.size;
    mine.function = add("hop", hop, &mine);
  });
  w->run(
      [&](Rank& r) {
        RankState& mine = states.of(r);
        for (uint32_t i = 0; i < each; ++i) {
          const Hop told{.left = 5, .origin = r.rank};
          const ompl_call_request call = request(mine.function, &told, sizeof told);
          ok(ompl_call(r.ctx(), r.right(), &call, nullptr, OMPL_FOREVER));
        }
        for (uint32_t i = 0; i < each; ++i) ok(r.wait(memory));
      },
      kThreads);
  w->run([&](Rank& r) {
    ok(r.barrier());
    EXPECT_EQ(states.of(r).wrong, 0U);
    EXPECT_EQ(states.of(r).sum, uint64_t{6} * each * kThreads);
  });
}

// A function may not wait for another rank.
uint64_t tries_to_wait(void* user, const ompl_call_context* call) {
  auto& state = *static_cast<RankState*>(user);
  const auto expect = [&state](int code, int expected) {
    if (code != expected) ++state.wrong;
  };
  uint64_t reply = 0;
  const ompl_call_request further = request(state.function, nullptr, 0);
  expect(ompl_wait(state.memory), OMPL_ERR_STATE);
  expect(ompl_ctx_wait(call->context, state.memory, 1'000'000), OMPL_ERR_STATE);
  expect(ompl_ctx_wait(call->context, state.memory, 0), OMPL_ERR_TIMEOUT);
  expect(ompl_barrier(), OMPL_ERR_STATE);
  expect(ompl_alloc(8, &reply), OMPL_ERR_STATE);
  expect(ompl_free(state.memory), OMPL_ERR_STATE);
  expect(ompl_call(call->context, call->source, &further, &reply, OMPL_FOREVER), OMPL_ERR_STATE);
  expect(ompl_call_register("x", tries_to_wait, user, &state.other), OMPL_ERR_STATE);
  expect(ompl_poll(state.memory), 0);
  ++state.counts[0];
  return 99;
}

TEST_P(Conformance, Calls_R26_FunctionsMayNotWait) {
  const auto w = world({.ranks = 2});
  const uint64_t memory = w->allocate(64);
  States states(2);
  w->run([&](Rank& r) {
    RankState& mine = states.of(r);
    mine.memory = memory;
    mine.function = add("tries_to_wait", tries_to_wait, &mine);
    uint64_t reply = 0;
    const ompl_call_request call = request(mine.function, nullptr, 0);
    ok(ompl_call(r.ctx(), r.right(), &call, &reply, OMPL_FOREVER));
    EXPECT_EQ(reply, 99U);
    until([&] { return mine.counts[0] == 1; });
    EXPECT_EQ(mine.wrong, 0U);
  });
}

uint64_t throws(void* /*user*/, const ompl_call_context* /*call*/) {
  throw std::runtime_error("of the test");
}

TEST_P(Conformance, Calls_R26_AnExceptionIsTheCallersError) {
  const auto w = world({.ranks = 2});
  States states(2);
  w->run([&](Rank& r) {
    RankState& mine = states.of(r);
    mine.function = add("throws", throws, nullptr);
    mine.other = add("plus_source", plus_source, &mine);
    const uint64_t value = 5;
    const ompl_call_request bad = request(mine.function, nullptr, 0);
    const ompl_call_request good = request(mine.other, &value, sizeof value);
    uint64_t reply = 3;
    EXPECT_EQ(ompl_call(r.ctx(), r.right(), &bad, &reply, OMPL_FOREVER), OMPL_ERR_SYSTEM);
    EXPECT_EQ(reply, 3U);
    ok(ompl_call(r.ctx(), r.right(), &good, &reply, OMPL_FOREVER));
    EXPECT_EQ(reply, 5 + r.rank);
  });
}

uint64_t fails(void* /*user*/, const ompl_call_context* /*call*/) {
  EXPECT_EQ(ompl_call_fail("of the test"), OMPL_OK);
  return 7;
}

// What a language without C++ exceptions does. Nobody is told where no reply is wanted, and the job goes on.
TEST_P(Conformance, Calls_R26_AFailedFunctionIsTheCallersError) {
  const auto w = world({.ranks = 2});
  States states(2);
  w->run([&](Rank& r) {
    RankState& mine = states.of(r);
    mine.function = add("fails", fails, nullptr);
    mine.other = add("plus_source", plus_source, &mine);
    const uint64_t value = 5;
    const ompl_call_request bad = request(mine.function, nullptr, 0);
    const ompl_call_request good = request(mine.other, &value, sizeof value);
    uint64_t reply = 3;
    EXPECT_EQ(ompl_call_fail(nullptr), OMPL_ERR_STATE);
    EXPECT_EQ(ompl_call(r.ctx(), r.right(), &bad, &reply, OMPL_FOREVER), OMPL_ERR_SYSTEM);
    EXPECT_EQ(reply, 3U);
    ok(ompl_call(r.ctx(), r.right(), &bad, nullptr, OMPL_FOREVER));
    ok(ompl_call(r.ctx(), r.right(), &good, &reply, OMPL_FOREVER));
    EXPECT_EQ(reply, 5 + r.rank);
  });
}

TEST_P(Conformance, Calls_BadArguments) {
  const auto w = world({.ranks = 2});
  const uint64_t memory = w->allocate(64);
  States states(2);
  w->run([&](Rank& r) {
    if (r.size == 1) return;  // who differs from nobody
    RankState& mine = states.of(r);
    uint32_t function = 77;
    std::array<char, OMPL_CALL_ARGUMENTS + 1> bytes{};
    const auto once = [&](const ompl_call_request& call, uint32_t to) {
      return ompl_call(r.ctx(), to, &call, nullptr, OMPL_FOREVER);
    };
    EXPECT_EQ(once(request(0, nullptr, 0), 0), OMPL_ERR_ARG) << "none is registered yet";
    EXPECT_EQ(ompl_call_register(nullptr, plus_source, nullptr, &function), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_call_register("name", nullptr, nullptr, &function), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_call_register(r.rank == 0 ? "one" : "two", plus_source, nullptr, &function),
              OMPL_ERR_ARG);
    EXPECT_EQ(function, 77U);
    mine.function = add("plus_source", plus_source, &mine);
    EXPECT_EQ(mine.function, 0U);
    EXPECT_EQ(once(request(1, nullptr, 0), 0), OMPL_ERR_ARG);
    EXPECT_EQ(once(request(0, nullptr, 0), r.size), OMPL_ERR_RANK);
    EXPECT_EQ(once(request(0, bytes.data(), bytes.size()), 0), OMPL_ERR_ARG);
    EXPECT_EQ(once(request(0, nullptr, 1), 0), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_call(r.ctx(), 0, nullptr, nullptr, 0), OMPL_ERR_ARG);
    ompl_call_request call = request(0, nullptr, 0);
    call.payload_length = 65;
    call.dest_addr = memory;
    EXPECT_EQ(once(call, 0), OMPL_ERR_LENGTH);
    call.dest_addr = 8;
    EXPECT_EQ(once(call, 0), OMPL_ERR_OFFSET);
    uint64_t reply = 0;
    const ompl_call_request plain = request(0, nullptr, 0);
    EXPECT_EQ(ompl_call_nb(r.ctx(), 0, &plain, &reply, nullptr), OMPL_ERR_ARG);
    ok(r.barrier());
    EXPECT_EQ(mine.counts[0], 0U);
  });
}

// What was called before the end still runs.
TEST_P(Conformance, Calls_R26_RunBeforeTheEnd) {
  States states(2);
  const uint32_t each = rounds(100);
  {
    const auto w = world({.ranks = 2});
    w->run([&](Rank& r) {
      states.of(r).function = add("plus_source", plus_source, &states.of(r));
      states.of(r).size = r.size;
      const uint64_t value = 1;
      const ompl_call_request call = request(states.of(r).function, &value, sizeof value);
      for (uint32_t i = 0; i < each; ++i)
        ok(ompl_call(r.ctx(), r.right(), &call, nullptr, OMPL_FOREVER));
    });
  }
  EXPECT_TRUE(states.all_counted(each));
}

}  // namespace
}  // namespace ompl::conformance
