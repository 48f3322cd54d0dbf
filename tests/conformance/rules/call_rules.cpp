// SPDX-License-Identifier: BSD-3-Clause
// Remote calls: each runs exactly once, in the order of its context, with its arguments and payload whole; replies, handles,
// floods.
#include <array>

#include "call_rules.hpp"

namespace ompl::conformance {
namespace {

TEST_P(Conformance, Calls_R26_AReplyIsWhatTheFunctionReturned) {
  const auto w = world({.ranks = 3});
  States states(3);
  w->run([&](Rank& r) {
    RankState& mine = states.of(r);
    mine.function = add("plus_source", plus_source, &mine);
    for (uint64_t i = 0; i < uint64_t{3} * rounds(40); ++i) {
      const uint32_t to = static_cast<uint32_t>(i) % r.size;  // this rank too
      const ompl_call_request call = request(mine.function, &i, sizeof i);
      uint64_t reply = 0;
      ok(ompl_call(r.ctx(), to, &call, &reply, OMPL_FOREVER));
      EXPECT_EQ(reply, i + r.rank);
    }
    ok(r.barrier());
    EXPECT_EQ(mine.counts[0], 3 * rounds(40));
  });
}

// Arguments of every length that a call may have, each whole.
uint64_t check_pattern(void* user, const ompl_call_context* call) {
  auto& state = *static_cast<RankState*>(user);
  const auto seed = argument<uint64_t>(*call);
  const std::size_t length = call->length - sizeof seed;
  const auto* const bytes = static_cast<const std::byte*>(call->arguments) + sizeof seed;
  if (mismatch(bytes, length, seed) != length) ++state.wrong;
  if (reinterpret_cast<uintptr_t>(call->arguments) % 16 != 0) ++state.wrong;
  ++state.counts[call->source];
  return length;
}

TEST_P(Conformance, Calls_R26_ArgumentsOfEveryLengthAreWhole) {
  const auto w = world({.ranks = 2});
  States states(2);
  w->run([&](Rank& r) {
    RankState& mine = states.of(r);
    mine.function = add("check_pattern", check_pattern, &mine);
    uint32_t sent = 0;
    for (std::size_t length = 0; length + sizeof(uint64_t) <= OMPL_CALL_ARGUMENTS;
         length += length < 300 ? 7 : 463) {
      const uint64_t seed = length + r.rank;
      std::vector<std::byte> bytes(sizeof seed + length);
      std::memcpy(bytes.data(), &seed, sizeof seed);
      const auto rest = pattern(length, seed);
      std::copy(rest.begin(), rest.end(), bytes.begin() + sizeof seed);
      const ompl_call_request call = request(mine.function, bytes.data(), bytes.size());
      uint64_t reply = 0;
      if (sent++ % 2 == 0) {
        ok(ompl_call(r.ctx(), r.right(), &call, nullptr, OMPL_FOREVER));
      } else {
        ok(ompl_call(r.ctx(), r.right(), &call, &reply, OMPL_FOREVER));
        EXPECT_EQ(reply, length);
      }
    }
    until([&] { return mine.counts[r.left()] == sent; });
    EXPECT_EQ(mine.wrong, 0U);
  });
}

// A flood from every thread of every rank to every rank: each call runs once, those of one thread in order.
struct Numbered {
  uint32_t rank, thread, number, padding;
};

uint64_t check_order(void* user, const ompl_call_context* call) {
  auto& state = *static_cast<RankState*>(user);
  const auto told = argument<Numbered>(*call);
  std::atomic<uint32_t>& next = state.counts[told.rank * 8 + told.thread];
  if (told.rank != call->source || next.fetch_add(1) != told.number) ++state.wrong;
  if (mismatch(static_cast<const std::byte*>(call->arguments) + sizeof told, call->length - sizeof told,
               told.number) != call->length - sizeof told)
    ++state.wrong;
  return 0;
}

void flood(World& w, States& states, unsigned threads, uint32_t each) {
  w.run(
      [&](Rank& r) {
        RankState& mine = states.of(r);
        for (uint32_t i = 0; i < each; ++i) {
          const Numbered told{r.rank, r.thread, i, 0};
          const auto rest = pattern(i % 200, i);
          std::vector<std::byte> bytes(sizeof told + rest.size());
          std::memcpy(bytes.data(), &told, sizeof told);
          std::copy(rest.begin(), rest.end(), bytes.begin() + sizeof told);
          const ompl_call_request call = request(mine.function, bytes.data(), bytes.size());
          for (uint32_t to = 0; to < r.size; ++to)
            ok(ompl_call(r.ctx(), to, &call, nullptr, OMPL_FOREVER));
        }
        until([&] {
          for (uint32_t rank = 0; rank < r.size; ++rank) {
            for (unsigned thread = 0; thread < threads; ++thread) {
              if (mine.counts[rank * 8 + thread] != each) return false;
            }
          }
          return true;
        });
        EXPECT_EQ(mine.wrong, 0U);
      },
      threads);
}

TEST_P(Conformance, Calls_R26_AFloodRunsOnceAndInOrder) {
  for (const auto& [ranks, threads] : {std::pair{2U, 1U}, std::pair{2U, 4U}, std::pair{3U, 2U}}) {
    const auto w = world({.ranks = ranks, .endpoints = 2});
    States states(ranks);
    w->run([&](Rank& r) { states.of(r).function = add("check_order", check_order, &states.of(r)); });
    flood(*w, states, threads, rounds(400));
  }
}

TEST_P(Conformance, Calls_R26_AFloodWithFewCredits) {
  const auto w = world({.ranks = 2, .endpoints = 1, .credits = 4});
  States states(2);
  w->run([&](Rank& r) { states.of(r).function = add("check_order", check_order, &states.of(r)); });
  flood(*w, states, 2, rounds(300));
}

// One ring at each rank, which one caller takes: the calls of the others are fetched.
TEST_P(Conformance, Calls_R26_MoreCallersThanRings) {
  const auto w = world({.ranks = 5, .endpoints = 2, .credits = 8, .call_memory = 1});
  States states(5);
  w->run([&](Rank& r) { states.of(r).function = add("check_order", check_order, &states.of(r)); });
  flood(*w, states, 2, rounds(20));
}

// A call without a ring takes three messages, one after the other, so there are few of them.
TEST_P(Conformance, Calls_R26_RepliesWithoutARing) {
  const auto w = world({.ranks = 4, .call_memory = 1});
  States states(4);
  w->run([&](Rank& r) {
    RankState& mine = states.of(r);
    mine.function = add("plus_source", plus_source, &mine);
    std::vector<ompl_handle> handles(3, ompl_handle OMPL_HANDLE_INIT);
    std::vector<uint64_t> replies(handles.size());
    const uint64_t each = rounds(8);
    for (uint64_t i = 0; i < each; ++i) {
      const ompl_call_request call = request(mine.function, &i, sizeof i);
      uint64_t reply = 0;
      ok(ompl_call(r.ctx(), static_cast<uint32_t>(i) % r.size, &call, &reply, OMPL_FOREVER));
      EXPECT_EQ(reply, i + r.rank);
      for (std::size_t k = 0; k < handles.size(); ++k) {
        int code = OMPL_RETRY_FULL;
        while (code >= OMPL_RETRY_FULL) {
          code = ompl_call_nb(r.ctx(), r.right(), &call, &replies[k], &handles[k]);
          if (code < OMPL_RETRY_FULL) break;
          ASSERT_GE(ompl_progress(r.ctx(), 0), 0);
        }
        ASSERT_EQ(code, OMPL_PENDING) << error_detail();
      }
      ok(ompl_handle_wait_all(r.ctx(), handles.data(), handles.size(), OMPL_FOREVER));
      for (const uint64_t one : replies) EXPECT_EQ(one, i + r.rank);
    }
    ok(r.barrier());
    const uint64_t in_turn = (each + r.size - 1 - r.rank) / r.size;  // of each rank
    EXPECT_EQ(mine.counts[0], in_turn * r.size + handles.size() * each);
  });
}

// A payload is there before the function runs, and so is what the context put before.
struct Pattern {
  uint64_t before;  // offset of what was put before,
  uint64_t length;  // of both,
  uint64_t seed;    // and of what they were made
};

uint64_t check_payload(void* user, const ompl_call_context* call) {
  auto& state = *static_cast<RankState*>(user);
  const auto told = argument<Pattern>(*call);
  if (call->payload_length != told.length) ++state.wrong;
  if (mismatch(ompl_ptr(state.rank, call->payload), told.length, told.seed) != told.length)
    ++state.wrong;
  if (mismatch(ompl_ptr(state.rank, told.before), told.length, told.seed + 1) != told.length)
    ++state.wrong;
  ++state.counts[0];
  return told.seed;
}

TEST_P(Conformance, Calls_R26_PayloadsAndEarlierPutsComeFirst) {
  constexpr std::size_t kMost = std::size_t{300} << 10;
  for (const std::size_t rings :
       {0U, 1U}) {  // bytes for them; three ranks, of which with one ring two find it taken
    const auto w = world({.ranks = rings == 0 ? 2U : 3U, .endpoints = 3, .call_memory = rings});
    const uint64_t memory = w->allocate(4 * kMost);
    States states(3);
    w->run([&](Rank& r) {
      RankState& mine = states.of(r);
      mine.rank = r.rank;
      mine.function = add("check_payload", check_payload, &mine);
      uint32_t sent = 0;
      for (const std::size_t length :
           {std::size_t{1}, std::size_t{8}, std::size_t{1000}, std::size_t{20'000}, kMost}) {
        for (uint64_t seed = 2; seed < 2 + 2 * rounds(6); seed += 2, ++sent) {
          const auto payload = pattern(length, seed);
          const auto before = pattern(length, seed + 1);
          // Two places by turns: the reply to the call before last tells that its place is free.
          const uint64_t place = memory + sent % 2 * 2 * kMost;
          ok(r.put(before.data(), r.right(), place + kMost, length));
          const Pattern told{.before = place + kMost, .length = length, .seed = seed};
          ompl_call_request call = request(mine.function, &told, sizeof told);
          call.src_addr = address(payload.data());
          call.dest_addr = place;
          call.payload_length = length;
          uint64_t reply = 0;
          ok(ompl_call(r.ctx(), r.right(), &call, &reply, OMPL_FOREVER));
          EXPECT_EQ(reply, seed);
        }
      }
      until([&] { return mine.counts[0] == sent; });
      EXPECT_EQ(mine.wrong, 0U);
    });
  }
}

// Handles of many calls under way; in whatever order they are waited for. Without room the call says so, and loses nothing.
TEST_P(Conformance, Calls_R26_HandlesAndRetries) {
  const auto w = world({.ranks = 2});
  const uint64_t memory = w->allocate(4096);
  States states(2);
  w->run([&](Rank& r) {
    RankState& mine = states.of(r);
    mine.function = add("plus_source", plus_source, &mine);
    constexpr uint32_t kCalls = 700;  // more than there are places for replies, and slots
    std::vector<ompl_handle> handles(kCalls, ompl_handle OMPL_HANDLE_INIT);
    std::vector<uint64_t> replies(kCalls);
    const uint64_t payload = 7;
    for (uint64_t i = 0; i < kCalls; ++i) {
      ompl_call_request call = request(mine.function, &i, sizeof i);
      if (i % 5 == 0) {
        call.src_addr = address(&payload);
        call.dest_addr = memory + i % 512 * 8;
        call.payload_length = sizeof payload;
      }
      int code = OMPL_RETRY_FULL;
      while (code >= OMPL_RETRY_FULL) {
        code = ompl_call_nb(r.ctx(), r.right(), &call, &replies[i], &handles[i]);
        if (code < OMPL_RETRY_FULL) break;
        ASSERT_GE(ompl_progress(r.ctx(), 0), 0);
        if (i >= 300) ok(ompl_handle_wait(r.ctx(), &handles[i - 300], OMPL_FOREVER));
      }
      ASSERT_EQ(code, OMPL_PENDING) << error_detail();
    }
    while (ompl_handle_test(r.ctx(), &handles[kCalls - 1]) == 0) {
    }
    size_t which = 0;
    ok(ompl_handle_wait_any(r.ctx(), handles.data(), kCalls, &which, OMPL_FOREVER));
    ok(ompl_handle_wait_all(r.ctx(), handles.data(), kCalls, OMPL_FOREVER));
    for (uint64_t i = 0; i < kCalls; ++i) EXPECT_EQ(replies[i], i + r.rank);
    until([&] { return mine.counts[0] == kCalls; });
    ok(r.flush());
  });
}

// A handle's callback.
TEST_P(Conformance, Calls_R26_ThenRunsOnceTheReplyIsThere) {
  const auto w = world({.ranks = 2});
  States states(2);
  w->run([&](Rank& r) {
    RankState& mine = states.of(r);
    mine.function = add("plus_source", plus_source, &mine);
    ompl_handle handle = OMPL_HANDLE_INIT;
    uint64_t reply = 0;
    const uint64_t value = 40;
    const ompl_call_request call = request(mine.function, &value, sizeof value);
    int code = OMPL_RETRY_FULL;
    while (code >= OMPL_RETRY_FULL) {
      code = ompl_call_nb(r.ctx(), r.right(), &call, &reply, &handle);
      if (code >= OMPL_RETRY_FULL) {
        ASSERT_GE(ompl_progress(r.ctx(), 0), 0);
      }
    }
    ASSERT_EQ(code, OMPL_PENDING);
    ok(ompl_handle_then(
        &handle, [](void* arg, int result) { *static_cast<int*>(arg) = result == OMPL_OK ? 1 : 2; },
        &code));
    until([&] { return code != OMPL_PENDING || reply != 0; });
    until([&] { return mine.counts[0] == 1; });
    EXPECT_EQ(reply, 40 + r.rank);
    EXPECT_EQ(code, 1);
  });
}

}  // namespace
}  // namespace ompl::conformance
