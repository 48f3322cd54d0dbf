// SPDX-License-Identifier: BSD-3-Clause
// Short puts that wait for the signal that follows them (src/core/network/coalesced_put.hpp): one request carries both, and
// whatever else may tell of a put sends it first. Over the stand-in, which counts.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "conduit/verbs/tests/stub/stub_call.hpp"
#include "over_verbs.hpp"

namespace ompl::conformance {
namespace {

std::unique_ptr<ThreadWorld> make_world(const Shape& shape, const char* transport = "rc") {
  log::set_level(log::Level::off);
  return std::make_unique<ThreadWorld>(over_verbs(transport), shape);
}

verbs_stub_counters counters() {
  verbs_stub_counters now{};
  auto* const count = STUB(verbs_stub_counts);
  EXPECT_NE(count, nullptr) << "this test needs the stand-in for libibverbs";
  if (count != nullptr) count(&now);
  return now;
}

// What is seen of a word without taking a signal.
uint64_t value_at(Rank& r, uint64_t offset) {
  return std::atomic_ref(*reinterpret_cast<uint64_t*>(r.own(offset))).load();
}

void put_and_signal(Rank& r, const std::byte* source, uint64_t data, std::size_t length,
                    uint64_t flag) {
  ok(r.put(source, 1, data, length));
  ok(r.signal(1, flag));
}

void put_signal(Rank& r, const std::byte* source, uint64_t data, std::size_t length, uint64_t flag) {
  ok(r.put_signal(source, 1, data, length, flag));
}

constexpr uint32_t kMessages = 50;

// What rank 0 rings and posts for kMessages; the other rank only takes them. It may send heartbeats meanwhile.
template <class Send>
void expect_work(std::size_t length, uint64_t each, Send send, const char* transport = "rc") {
  const auto w = make_world({.ranks = 2, .endpoints = 1}, transport);
  constexpr uint64_t kApart = 1024;
  const uint64_t data = w->allocate((kMessages + 1) * kApart);
  const uint64_t flag = w->allocate(64);
  w->run([&](Rank& r) {
    if (r.rank == 1) {
      for (uint32_t i = 0; i <= kMessages; ++i) ok(r.wait(flag));
      for (uint32_t i = 0; i <= kMessages; ++i)
        EXPECT_EQ(mismatch(r.own(data + i * kApart), length, 7), length);
      return;
    }
    const std::vector<std::byte> source = pattern(length, 7);
    send(r, source.data(), data, length, flag);  // connects, learns the key
    ok(r.quiet());
    const verbs_stub_counters before = counters();
    for (uint32_t i = 1; i <= kMessages; ++i) send(r, source.data(), data + i * kApart, length, flag);
    const verbs_stub_counters after = counters();
    constexpr uint64_t kHeartbeats = 2;
    EXPECT_GE(after.requests - before.requests, kMessages * each);
    EXPECT_LE(after.requests - before.requests, kMessages * each + kHeartbeats);
    EXPECT_LE(after.doorbells - before.doorbells, kMessages * each + kHeartbeats);
  });
}

TEST(VerbsJoined, AShortPutAndItsSignalAreOneRequest) {
  for (const std::size_t length : {1U, 8U, 100U, 128U}) expect_work(length, 1, put_and_signal);
}

TEST(VerbsJoined, XrcAndDcDoTheSame) {
  for (const char* transport : {"xrc", "dc"}) {
    expect_work(8, 1, put_and_signal, transport);
    expect_work(128, 1, put_signal, transport);
    expect_work(129, 2, put_and_signal, transport);
  }
}

TEST(VerbsJoined, ALongerPutAndItsSignalAreTwo) { expect_work(129, 2, put_and_signal); }

TEST(VerbsJoined, APutSignalIsOneRequest) {
  for (const std::size_t length : {8U, 1000U}) expect_work(length, 1, put_signal);
}

// Whatever may tell of a put, and every call that may block, sends it.
TEST(VerbsJoined, R5_WhatTheContextDoesNextSendsTheHeldPut) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "looks at data before anything says that they are there, as no program may";
#endif
  const auto w = make_world({.ranks = 3, .endpoints = 2});
  const uint64_t data = w->allocate(4096);
  const uint64_t flag = w->allocate(64);
  using Next = void (*)(Rank&, uint64_t, uint64_t);
  static constexpr Next kNext[] = {
      [](Rank& r, uint64_t, uint64_t) { ok(r.flush()); },
      [](Rank& r, uint64_t, uint64_t) { ok(r.quiet()); },
      [](Rank& r, uint64_t, uint64_t f) { EXPECT_EQ(r.poll(f), 0); },
      [](Rank& r, uint64_t, uint64_t f) { EXPECT_EQ(r.wait(f, 1'000'000), OMPL_ERR_TIMEOUT); },
      [](Rank& r, uint64_t, uint64_t f) { ok(r.signal(2, f + 8)); },
      [](Rank& r, uint64_t d, uint64_t) {
        const uint64_t other = 1;
        ok(r.put(&other, 2, d + 8, 8));
      },
      [](Rank& r, uint64_t d, uint64_t) {
        uint64_t got = 0;
        ok(r.get(&got, 1, d + 16, 8));
      },
      [](Rank&, uint64_t, uint64_t) { EXPECT_GE(ompl_progress(OMPL_CTX_DEFAULT, 0), 0); },
  };
  std::atomic<uint64_t> seen{0};
  w->run([&](Rank& r) {
    if (r.rank == 2) return;
    uint64_t round = 0;
    for (const Next next : kNext) {
      ++round;
      if (r.rank == 1) {
        while (value_at(r, data) != round) EXPECT_GE(r.poll(flag), 0);
        seen = round;
        continue;
      }
      ok(r.put_signal(&round, 1, data + 64, 8, flag + 4));  // connected: the next put is held
      ok(r.put(&round, 1, data, 8));
      next(r, data, flag);
      while (seen != round) std::this_thread::yield();  // outside the layer
    }
  });
}

TEST(VerbsJoined, SignalsToOtherRanksDoNotTakeThePutAlong) {
  const auto w = make_world({.ranks = 3, .endpoints = 1});
  const uint64_t data = w->allocate(256);
  const uint64_t flag = w->allocate(64);
  w->run([&](Rank& r) {
    for (uint64_t round = 1; round <= rounds(300); ++round) {
      if (r.rank != 0) {
        ok(r.wait(flag));
        EXPECT_EQ(value_at(r, data), round);
        ok(r.signal(0, flag));
        continue;
      }
      ok(r.put(&round, 1, data, 8));
      ok(r.put(&round, 2, data, 8));
      ok(r.signal(1 + round % 2, flag));
      ok(r.signal(2 - round % 2, flag));
      for (int i = 0; i < 2; ++i) ok(r.wait(flag));
    }
  });
}

// Of all contexts of the rank, also such as nobody uses any more.
TEST(VerbsJoined, R5_FreeSendsWhatEveryContextHolds) {
  const auto w = make_world({.ranks = 2, .endpoints = 2});
  w->run([&](Rank& r) {
    const uint64_t data = r.allocate(256);
    const uint64_t flag = r.allocate(64);
    for (uint64_t round = 1; round <= 10; ++round) {
      const uint64_t other = r.allocate(64);
      const auto context = r.context();
      if (r.rank == 0) {
        ok(context->put_signal(&round, 1, data + 8, 8, flag));
        ok(context->put(&round, 1, data, 8));
      }
      ok(r.free(other));
      if (r.rank == 1) {
        EXPECT_EQ(value_at(r, data), round);
        ok(r.wait(flag));
      } else {
        ok(context->put_signal(&round, 1, data + 16, 8, flag + 4));
      }
      if (r.rank == 1) ok(r.wait(flag + 4));
      ok(r.barrier());
    }
  });
}

TEST(VerbsJoined, R18_AHeldPutThatCannotBeSentIsToldOfByFlush) {
  const auto w = make_world({.ranks = 2, .endpoints = 1, .ends_well = false});
  const uint64_t data = w->allocate(256);
  const uint64_t flag = w->allocate(64);
  std::atomic<bool> done{false};
  w->run([&](Rank& r) {
    if (r.rank == 1) {
      while (!done) r.poll(flag + 8);  // which fails once it learns of the break
      EXPECT_EQ(value_at(r, data), 0U);
      return;
    }
    const uint64_t value = 5;
    ok(r.signal(1, flag));
    ok(r.quiet());
    ok(r.put(&value, 1, data, 8));
    STUB(verbs_stub_break_connections)();
    EXPECT_EQ(r.flush(), OMPL_ERR_LINK) << ompl_error_detail();
    EXPECT_EQ(r.signal(1, flag), OMPL_ERR_LINK);
    ok(r.signal(0, flag));
    done = true;
  });
}

}  // namespace
}  // namespace ompl::conformance
