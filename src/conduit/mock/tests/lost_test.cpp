// SPDX-License-Identifier: BSD-3-Clause
// What is lost is not taken for landed, and what is not lost not for over, whoever learns of the break.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "conformance/doomed.hpp"
#include "omnipgas/ompl_ext.h"

namespace ompl::conformance {
namespace {

using conduit::mock::Hostility;
using conduit::mock::Wire;

// Rank 0 has two endpoints, both connected to rank 1: its thread posts on the first, the context `other` on the second.
// Rank 1 is outside of the layer meanwhile, and has seen no signal on `flag` in the end.
using OnTwo = std::function<void(Rank& r, Rank& other, uint64_t data, uint64_t flag)>;
void on_two_endpoints(Doomed& doomed, const OnTwo& body) {
  doomed.run([&](Rank& r) {
    const uint64_t data = r.allocate(8);
    const uint64_t flag = r.allocate(8);
    if (r.rank == 1) {
      doomed.settle(r, flag);
      while (!doomed.done) ::sched_yield();
      doomed.serve(r, flag + 4);
      EXPECT_EQ(r.count(flag), 0U) << "a signal without its data";
      return;
    }
    const auto other = r.context();
    const uint64_t value = 1;
    for (Rank* const each : {&r, other.get()}) ok(each->put_signal(&value, 1, data, 8, flag + 4));
    ok(other->quiet());
    doomed.settle(r, flag);
    body(r, *other, data, flag);
    doomed.done = true;
  });
}

// While it lives, a thread of rank 0 has the first endpoint and does not give it back.
class Busy {
 public:
  Busy(Wire& wire, Rank& other)
      : detention_(std::in_place, wire, 0, 0), thread_([this, &other](const std::stop_token& stop) {
          while (!stop.stop_requested()) ompl_progress(other.ctx(), 0);
        }) {
    while (!detention_->holds()) ::sched_yield();
  }
  ~Busy() { detention_.reset(); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::optional<Wire::Detention> detention_;
  std::jthread thread_;
};

TEST(MockFailure, R18_NoSignalPassesDataThatAnotherThreadKnowsToBeLost) {
  Doomed doomed({.spurious_retry = 0}, {.endpoints = 2});
  on_two_endpoints(doomed, [&](Rank& r, Rank& other, uint64_t data, uint64_t flag) {
    const uint64_t value = 5;
    ok(r.put(&value, 1, data, 8));
    const Busy busy(doomed.wire(), other);
    doomed.wire().fail_link(0, 0, 1);
    EXPECT_NE(r.signal(1, flag, 100'000'000), OMPL_OK);
  });
}

// Held puts are there only where puts and signals are joined.
const Hostility kJoined{
    .stalls_sender = true, .max_fused_put = 64, .immediate_puts = true, .spurious_retry = 0};

// Its own endpoint is busy, and the other one cannot send it: the next signal, by the fast path, must not pass it.
TEST(MockFailure, R18_NoSignalPassesAHeldPutThatIsLostElsewhere) {
  Doomed doomed(kJoined, {.endpoints = 2});
  on_two_endpoints(doomed, [&](Rank& r, Rank& other, uint64_t data, uint64_t flag) {
    const uint64_t value = 5;
    ok(r.put(&value, 1, data, 8));
    doomed.wire().fail_link(0, 1, 1);
    {
      const Busy busy(doomed.wire(), other);
      ompl_progress(r.ctx(), 0);
    }
    EXPECT_EQ(r.signal(1, flag), OMPL_ERR_LINK);
    EXPECT_EQ(r.flush(), OMPL_ERR_LINK);
    EXPECT_EQ(r.flush(), OMPL_OK) << "told once";
  });
}

// ompl_free() sends what other contexts hold, through its own endpoint.
TEST(MockFailure, R18_NoSignalPassesAHeldPutThatAnotherContextLoses) {
  Doomed doomed(kJoined, {.endpoints = 2});
  const uint64_t freed = [&] {
    std::atomic<uint64_t> offset{0};
    doomed.run([&](Rank& r) { offset = r.allocate(8); });
    return offset.load();
  }();
  on_two_endpoints(doomed, [&](Rank& r, Rank& other, uint64_t data, uint64_t flag) {
    const uint64_t value = 5;
    ok(other.put(&value, 1, data, 8));
    doomed.wire().fail_link(0, 0, 1);
    EXPECT_EQ(r.free(freed), OMPL_ERR_LINK);
    EXPECT_EQ(other.signal(1, flag), OMPL_ERR_LINK);
    EXPECT_EQ(other.flush(), OMPL_ERR_LINK);
    EXPECT_EQ(other.flush(), OMPL_OK) << "told once";
  });
}

// Its buffer is in use until its own connection says something.
TEST(MockFailure, R18_ABreakEndsNoTransferOfAnotherConnection) {
  constexpr std::size_t kLength = 4096;
  for (const bool blocks : {true, false}) {
    SCOPED_TRACE(blocks);
    Doomed doomed({.inline_limit = 0, .spurious_retry = 0}, {.endpoints = 2});
    std::atomic<uint64_t> before{UINT64_MAX};
    doomed.run([&](Rank& r) {
      const uint64_t data = r.allocate(kLength);
      const uint64_t flag = r.allocate(4);
      const std::vector<std::byte> source = pattern(kLength, 1);
      const auto& posted = doomed.wire().counts().posted_data;
      if (r.rank == 1) {
        doomed.settle(r, flag);
        while (before == UINT64_MAX || posted == before) ::sched_yield();
        doomed.wire().fail_link(0, 0, 1);
        doomed.await_failure(0);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));  // what rank 0 does then, it does
        EXPECT_FALSE(doomed.done);
        doomed.serve(r, flag);
        return;
      }
      const auto other = r.context();
      for (Rank* const each : {&r, other.get()}) ok(each->put(source.data(), 1, data, 8));
      ok(other->quiet());
      doomed.settle(r, flag);
      before = posted.load();
      if (blocks) {
        ok(other->put(source.data(), 1, data, kLength));
      } else {
        ompl_handle handle;
        EXPECT_EQ(
            ompl_put_nb(other->ctx(), address(source.data()), 1, data, kLength, nullptr, 0, &handle),
            OMPL_PENDING);
        ok(ompl_handle_wait(other->ctx(), &handle, OMPL_FOREVER));
      }
      doomed.done = true;
    });
  }
}

// A put in several messages of which the second cannot be posted any more, or one of which only the signal cannot, after its
// time is up: the first message still reads the caller's memory.
TEST(MockFailure, R24_APutThatFailsHalfWayReturnsOnceNothingReadsItsSource) {
  constexpr std::size_t kMessage = 1024;
  constexpr std::size_t kLength = 4 * kMessage;
  constexpr int64_t kSoon = 1'000'000;
  for (const int way : {0, 1, 2}) {
    SCOPED_TRACE(way);
    Doomed doomed({.max_message = kMessage, .send_depth = 1, .inline_limit = 0, .spurious_retry = 0},
                  {.endpoints = 2});
    std::atomic<bool> failed{false};
    doomed.run([&](Rank& r) {
      const uint64_t data = r.allocate(kLength);
      const uint64_t flag = r.allocate(8);
      std::vector<std::byte> source = pattern(kLength, 1);
      if (r.rank == 1) {
        doomed.settle(r, flag);
        while (!failed) ::sched_yield();
        doomed.await_failure(0);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));  // what rank 0 does then, it does
        EXPECT_FALSE(doomed.done);
        doomed.serve(r, flag);
        EXPECT_EQ(mismatch(r.own(data), kMessage, 1), kMessage);
        EXPECT_EQ(r.count(flag + 4), 0U);
        return;
      }
      const auto other = r.context();
      for (Rank* const each : {&r, other.get()}) ok(each->put(source.data(), 1, data, 8));
      ok(other->quiet());
      doomed.settle(r, flag);
      doomed.wire().after_next_data([&] {
        doomed.wire().fail_link(0, 0, 1);
        failed = true;
      });
      ompl_strided block{};
      block.element = kMessage;
      const ompl_signal signal{.flag_addr = flag + 4, .value = 1, .op = OMPL_ADD32};
      const uint64_t from = address(source.data());
      EXPECT_EQ(way == 0   ? other->put(source.data(), 1, data, kLength)
                : way == 1 ? other->put_signal(source.data(), 1, data, kMessage, flag + 4, kSoon)
                           : ompl_ctx_put_strided(other->ctx(), from, 1, data, &block, &signal, kSoon),
                OMPL_ERR_LINK);
      std::ranges::fill(source, std::byte{0xEE});
      doomed.done = true;
    });
  }
}

}  // namespace
}  // namespace ompl::conformance
