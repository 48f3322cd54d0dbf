// SPDX-License-Identifier: BSD-3-Clause
// Long puts in segments, paced, over the pool; and the same switched off. Over the stand-in and, in a virtual machine,
// Soft-RoCE: what is counted is the same on both.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "conduit/registry.hpp"
#include "conformance/long_put.hpp"
#include "posts.hpp"

namespace ompl::conformance {
namespace {

constexpr std::size_t kSegment = std::size_t{128} << 10;
constexpr std::size_t kLength = std::size_t{2} << 20;
constexpr uint64_t kPaced = 4;

std::unique_ptr<Fabric> tuned(unsigned stripes) {
  const Tune tune = [stripes](uint32_t /*rank*/, Settings* settings) {
    settings->verbs_stripe = stripes;
    settings->verbs_segment = kSegment;
  };
  return fabric_of(tune, conduit::self::make, conduit::verbs::make);
}

struct Seen {
  uint64_t pairs = 0;           // queue pairs that carried bulk
  uint64_t least = UINT64_MAX;  // bulk requests on one of them
  Posts all;
};

Seen take_bulk() {
  Seen seen;
  for (const auto& [number, posts] : take_posts()) {
    if (posts.bulk == 0) continue;
    fmt::print("queue pair {}: {} bulk requests, {} bytes, at most {} outstanding\n", number,
               posts.bulk, posts.bytes, posts.most);
    ++seen.pairs;
    seen.least = std::min(seen.least, posts.bulk);
    seen.all += posts;
  }
  return seen;
}

// The requests of a long put over four endpoints.
template <class Send>
Seen put_long(unsigned stripes, std::size_t length, Send send) {
  log::set_level(log::Level::off);
  ThreadWorld w(tuned(stripes), {.ranks = 2, .endpoints = 4});
  Seen seen;
  conformance::put_long(
      w, length, false, send, [] { take_posts(); }, [&] { seen = take_bulk(); });
  return seen;
}

void put_signal(Rank& r, const std::byte* source, uint64_t to, std::size_t length, uint64_t flag) {
  ok(r.put_signal(source, 1, to, length, flag));
}

TEST(VerbsStripe, ALongPutGoesInPacedSegmentsOverThePool) {
  for (const auto send : {put_then_signal, put_signal}) {
    const Seen seen = put_long(4, kLength, send);
    EXPECT_EQ(seen.pairs, 4U);
    EXPECT_GE(seen.least, 2U);
    EXPECT_EQ(seen.all.bulk, kLength / kSegment);
    EXPECT_EQ(seen.all.bytes, kLength);
    EXPECT_EQ(seen.all.longest, kSegment);
    EXPECT_LE(seen.all.most, kPaced);
  }
}

TEST(VerbsStripe, OnOneEndpointItIsPacedToo) {
  const Seen seen = put_long(1, kLength, put_then_signal);
  EXPECT_EQ(seen.pairs, 1U);
  EXPECT_EQ(seen.all.bulk, kLength / kSegment);
  EXPECT_LE(seen.all.most, kPaced);
}

TEST(VerbsStripe, SwitchedOffItIsOneRequest) {
  for (const auto send : {put_then_signal, put_signal}) {
    const Seen seen = put_long(0, kLength, send);
    EXPECT_EQ(seen.pairs, 1U);
    EXPECT_EQ(seen.all.bulk, 1U);
    EXPECT_EQ(seen.all.longest, kLength);
  }
}

TEST(VerbsStripe, APutBelowFourSegmentsIsOneRequest) {
  EXPECT_EQ(put_long(4, 4 * kSegment - 1, put_then_signal).all.bulk, 1U);
  const Seen shortest = put_long(4, 4 * kSegment, put_then_signal);
  EXPECT_EQ(shortest.pairs, 4U);
  EXPECT_EQ(shortest.all.bulk, 4U);
}

// Who may give up, or does not wait at all, leaves the whole to one request.
TEST(VerbsStripe, WithATimeLimitOrWithoutWaitingItIsOneRequest) {
  constexpr int64_t kLong = 200'000'000'000;
  const auto limited = [](Rank& r, const std::byte* source, uint64_t to, std::size_t length,
                          uint64_t flag) {
    ok(r.put(source, 1, to, length, kLong));
    ok(r.signal(1, flag));
  };
  const auto nonblocking = [](Rank& r, const std::byte* source, uint64_t to, std::size_t length,
                              uint64_t flag) {
    ompl_handle handle;
    int code = OMPL_OK;
    while ((code = ompl_put_nb(r.ctx(), address(source), 1, to, length, nullptr, 0, &handle)) > 0 &&
           code != OMPL_PENDING)
      EXPECT_GE(ompl_progress(r.ctx(), 1'000'000), 0);
    EXPECT_EQ(code, OMPL_PENDING);
    ok(r.signal(1, flag));
    ok(ompl_handle_wait(r.ctx(), &handle, OMPL_FOREVER));
  };
  EXPECT_EQ(put_long(4, kLength, limited).all.bulk, 1U);
  EXPECT_EQ(put_long(4, kLength, nonblocking).all.bulk, 1U);
}

// More threads than endpoints, all with long puts: none waits for an endpoint of another's, and each signal follows
// its own data.
TEST(VerbsStripe, ThreadsShareThePool) {
  log::set_level(log::Level::off);
  constexpr unsigned kThreads = 4;
  constexpr std::size_t kEach = 5 * kSegment + 12'345;
  ThreadWorld w(tuned(4), {.ranks = 2, .endpoints = 3});
  const uint64_t from = w.allocate(kThreads * kEach);
  const uint64_t to = w.allocate(kThreads * kEach);
  const uint64_t flags = w.allocate(kThreads * 64);
  take_posts();
  w.run(
      [&](Rank& r) {
        const uint64_t mine = r.thread * kEach;
        const uint64_t flag = flags + uint64_t{r.thread} * 64;
        for (uint64_t round = 1; round <= rounds(4); ++round) {
          const uint64_t seed = round * kThreads + r.thread;
          if (r.rank == 1) {
            ok(r.wait(flag));
            EXPECT_EQ(mismatch(r.own(to + mine), kEach, seed), kEach);
            ok(r.signal(0, flag));
            continue;
          }
          const std::vector<std::byte> content = pattern(kEach, seed);
          std::ranges::copy(content, r.own(from + mine));
          put_then_signal(r, r.own(from + mine), to + mine, kEach, flag);
          ok(r.wait(flag));
        }
      },
      kThreads);
  const Seen seen = take_bulk();
  EXPECT_EQ(seen.all.bulk, uint64_t{kThreads} * rounds(4) * 6);
  EXPECT_LE(seen.pairs, 3U);
  EXPECT_LE(seen.all.most, kPaced);
}

}  // namespace
}  // namespace ompl::conformance
