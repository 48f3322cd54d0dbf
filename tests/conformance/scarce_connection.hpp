// SPDX-License-Identifier: BSD-3-Clause
// A first connection during which an allocation is refused, the first one, the second one, ... at either side: every call ends, with
// success or an error that both sides are told of, and what is tried again after a refusal arrives once. Instantiated for each
// conduit beside it.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <set>

#include "conformance/conformance.hpp"
#include "conformance/scarce_memory.hpp"
#include "omnipgas/ompl_ext.h"

namespace ompl::conformance {

class ScarceConnection : public Conformance {
 protected:
  static constexpr uint32_t kRanks = 6;  // no barrier connects rank r with r + 3
  static constexpr uint32_t kPairs =
      2;  // of rank 0 it is the caller that is refused, of rank 1 its target
  static constexpr int64_t kLimit = 120'000'000'000;  // ns: who is not told hangs so long
  static constexpr std::size_t kShort = 100;
  static constexpr std::size_t kLong = 100'000;

  struct Outcome {
    int caller = OMPL_OK;
    int target = OMPL_OK;
    uint32_t signals = 0;  // that the target has got
    uint64_t before = 0;   // of the atomic
    bool right = false;    // the data that it has got
    bool refused = false;  // an allocation was
  };
  using Outcomes = std::array<Outcome, kPairs>;

  // What is refused for want of memory has posted nothing, and is tried again.
  static int insist(const std::function<int()>& call) {
    int code = OMPL_ERR_MEMORY;
    for (int i = 0; i < 3 && code == OMPL_ERR_MEMORY; ++i) code = call();
    return code;
  }

  Outcomes connect(std::size_t n) {
    Outcomes outcomes;
    const std::unique_ptr<World> w = world({.ranks = kRanks, .endpoints = 1, .ends_well = false});
    const uint64_t data = w->allocate(kShort + kLong);
    const uint64_t flag = w->allocate(64);
    std::atomic<uint32_t> running{2 * kPairs};
    w->run([&](Rank& r) {
      const uint32_t pair = r.rank % (kRanks / 2);
      const bool is_caller = r.rank == pair;
      if (pair < kPairs) {
        Outcome& out = outcomes[pair];
        const std::size_t refused = is_caller == (pair == 0) ? n : 0;
        is_caller ? put_all(r, data, flag, refused, &out) : receive(r, flag, refused, &out);
        if (!is_caller)
          out.right = out.target == OMPL_OK && mismatch(r.own(data), kShort, pair) == kShort &&
                      mismatch(r.own(data) + kShort, kLong, pair) == kLong;
        --running;
      }
      while (running > 0) r.poll(flag + 4);
      if (pair < kPairs && !is_caller) outcomes[pair].signals = 1 + r.drain(flag);
    });
    return outcomes;
  }

  static void expect_an_end(const Outcome& out) {
    const std::set<int> ends{OMPL_OK, OMPL_ERR_LINK, OMPL_ERR_PEER};
    EXPECT_TRUE(ends.contains(out.caller)) << ompl_strerror(out.caller);
    EXPECT_TRUE(ends.contains(out.target)) << ompl_strerror(out.target);
    if (out.caller != OMPL_OK && out.target != OMPL_OK) return;
    EXPECT_TRUE(out.right);
    EXPECT_EQ(out.signals, 1U);
  }

 private:
  static void put_all(Rank& r, uint64_t data, uint64_t flag, std::size_t n, Outcome* out) {
    const uint32_t target = r.rank + kRanks / 2;
    const std::vector<std::byte> few = pattern(kShort, r.rank);
    const std::vector<std::byte> many = pattern(kLong, r.rank);
    const std::array<std::function<int()>, 5> calls{
        [&] { return r.put(few.data(), target, data, kShort, kLimit); },
        [&] { return r.put(many.data(), target, data + kShort, kLong, kLimit); },
        [&] { return r.signal(target, flag, kLimit); }, [&] { return r.quiet(kLimit); },
        [&] { return ompl_fetch_add64(target, flag + 8, 7, &out->before); }};
    const Refusal refusal(n);
    for (std::size_t i = 0; i < calls.size() && out->caller == OMPL_OK; ++i)
      out->caller = insist(calls[i]);
    if (refusal.happened()) out->refused = true;
  }

  static void receive(Rank& r, uint64_t flag, std::size_t n, Outcome* out) {
    const Refusal refusal(n);
    out->target = insist([&] { return r.wait(flag, kLimit); });
    if (refusal.happened()) out->refused = true;
  }
};

TEST_P(ScarceConnection, AnAllocationThatIsRefusedEndsInSuccessOrAnErrorAtBothSides) {
  std::size_t n = 1;
  std::array<std::size_t, kPairs> refused{};
  std::size_t failed = 0;
  for (bool some = true; some && !HasFailure(); ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    const Outcomes outcomes = connect(n);
    some = false;
    for (uint32_t pair = 0; pair < kPairs; ++pair) {
      const Outcome& out = outcomes[pair];
      SCOPED_TRACE(pair == 0 ? "of the caller" : "of the target");
      expect_an_end(out);
      some = some || out.refused;
      refused[pair] += out.refused ? 1 : 0;
      failed += out.caller != OMPL_OK || out.target != OMPL_OK ? 1 : 0;
    }
  }
  EXPECT_GT(refused[0], 0U) << "none was";
  EXPECT_GT(refused[1], 0U) << "none was";
  EXPECT_LT(failed, n) << "what is refused once need not end a connection";
  RecordProperty("refused_by_callers", static_cast<int>(refused[0]));
  RecordProperty("refused_by_targets", static_cast<int>(refused[1]));
  RecordProperty("failed", static_cast<int>(failed));
}

// A quiet of the whole process sends what other contexts hold; if it fails for want of memory that is held again.
TEST_P(ScarceConnection, WhatAnotherContextHoldsIsSentByTheNextQuiet) {
  const std::unique_ptr<World> w = world({.ranks = 2, .endpoints = 1});
  const uint64_t data = w->allocate(64);
  const uint64_t flag = w->allocate(64);
  w->run([&](Rank& r) {
    const auto* const words = reinterpret_cast<const uint64_t*>(r.own(data));
    uint64_t again = 1;
    for (uint64_t n = 1; again != 0; ++n) {
      if (r.rank == 0) {
        const auto other = r.context();
        ok(other->put(&n, 1, data, sizeof n));
        int code = OMPL_OK;
        {
          const Refusal refusal(n);
          code = ompl_process_quiet();
          again = refusal.happened() ? 1 : 0;
        }
        EXPECT_TRUE(code == OMPL_OK || (code == OMPL_ERR_MEMORY && again == 1)) << ompl_error_detail();
        ok(ompl_process_quiet());
        ok(r.put(&again, 1, data + sizeof n, sizeof again));
        ok(r.signal(1, flag));
        ok(r.wait(flag));
      } else {
        ok(r.wait(flag));
        EXPECT_EQ(words[0], n);
        again = words[1];
        ok(r.signal(0, flag));
      }
    }
  });
}

}  // namespace ompl::conformance
