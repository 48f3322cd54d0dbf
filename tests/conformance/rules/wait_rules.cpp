// SPDX-License-Identifier: BSD-3-Clause
// Waiting: sleepers are woken, the yield hook is obeyed and may use the layer, time limits take nothing.
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "conformance/conformance.hpp"

namespace ompl::conformance {
namespace {

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

TEST_P(Conformance, Waiting_R15_ASleeperIsWokenByASignal) {
  const auto w = world();
  std::array<std::atomic<bool>, 2> done{};  // by rank
  const uint64_t flag = w->allocate(4);
  w->run(
      [&](Rank& r) {
        const uint32_t count = rounds(20);
        if (r.thread == 0) {
          for (uint32_t i = 0; i < count; ++i) ok(r.wait(flag));
          done.at(r.rank) = true;
          return;
        }
        // Once the own waiter sleeps, so does the neighbour's, as likely as not: that one is woken.
        for (uint32_t i = 0; i < count; ++i) {
          while (r.sleepers() == 0 && r.count(flag) == 0 && !done.at(r.rank)) nap();
          ok(r.signal(r.right(), flag));
        }
      },
      2);
  w->run([&](Rank& r) { EXPECT_EQ(r.drain(flag), 0U); });
}

// The waiter sleeps long before the signal comes.
TEST_P(Conformance, Waiting_R15_ASleeperIsWokenAfterALongSilence) {
  world()->run([](Rank& r) {
    const uint64_t flag = r.allocate(8);
    for (int i = 0; i < 3; ++i) {
      if (r.rank == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // outside the layer
        ok(r.signal(r.right(), flag));
        ok(r.wait(flag + (r.size == 1 ? 0 : 4)));
      } else if (r.rank == 1) {
        ok(r.wait(flag));
        ok(r.signal(0, flag + 4));
      }
    }
  });
}

TEST_P(Conformance, Waiting_ManySleepersAreAllWoken) {
  const auto w = world();
  constexpr unsigned kSleepers = 6;
  const uint64_t flags = w->allocate(256 * kSleepers);
  w->run(
      [&](Rank& r) {
        for (uint32_t i = 0; i < 3; ++i) {
          if (r.thread > 0) {
            ok(r.wait(flags + (r.thread - 1) * 256));
            continue;
          }
          nap();
          for (unsigned sleeper = 0; sleeper < kSleepers; ++sleeper)
            ok(r.signal(r.right(), flags + sleeper * 256));
        }
      },
      kSleepers + 1);
}

// What a hook does: uses the layer itself, on the very context that waits.
struct Hook {
  Rank* rank;
  uint64_t data, flag;
  uint32_t calls = 0;
  int answer = 1;
  bool inside = false;
};

int use_the_layer(void* argument) {
  auto& hook = *static_cast<Hook*>(argument);
  ++hook.calls;
  std::this_thread::yield();
  if (hook.inside) return hook.answer;  // its own calls may block, and so call it again
  hook.inside = true;
  Rank& r = *hook.rank;
  const uint64_t value = hook.calls;
  uint64_t back = 0;
  ok(r.put_signal(&value, r.right(), hook.data, sizeof value, hook.flag));
  ok(r.flush());
  ok(r.quiet());
  ok(r.get(&back, r.rank, hook.data + 8, sizeof back));
  EXPECT_GE(r.poll(hook.flag), 0);
  hook.inside = false;
  return hook.answer;
}

// Longer than the spinning before the first call of the hook, also under ThreadSanitizer.
constexpr int64_t kTimeToYield_ns = 20'000'000;

// With one endpoint a hook that was called under a claim could never post.
TEST_P(Conformance, Yield_R17_TheHookMayCallAnything) {
  world({.endpoints = 1})->run([](Rank& r) {
    const uint64_t data = r.allocate(16);
    const uint64_t flags = r.allocate(16);
    const auto context = r.context();
    Hook hook{.rank = context.get(), .data = data, .flag = flags};
    r.set_yield(use_the_layer, &hook);
    const auto source = pattern(5000, 1);
    const uint64_t large = r.allocate(5000);
    for (uint32_t i = 0; i < rounds(20); ++i) {
      ok(r.put(source.data(), r.right(), large, source.size()));
      ok(r.signal(r.right(), flags + 4));
      ok(r.quiet());
      while (hook.calls < i) EXPECT_EQ(r.wait(flags + 8, kTimeToYield_ns), OMPL_ERR_TIMEOUT);
      ok(r.wait(flags + 4));
    }
    EXPECT_GT(hook.calls, 0U);
    r.set_yield(nullptr, nullptr);
    ok(r.barrier());
  });
}

// A task that the hook runs on this thread uses the thread's implicit context, in the midst of its owner's call.
TEST_P(Conformance, Yield_R17_TheHookMayUseTheWaitingContext) {
  world({.ranks = 3, .endpoints = 1})->run([](Rank& r) {
    const uint64_t data = r.allocate(16);
    const uint64_t flags = r.allocate(16);
    const auto context = r.context();  // a fresh one: its first quiet is the one that is interrupted
    Hook hook{.rank = context.get(), .data = data, .flag = flags};
    r.set_yield(use_the_layer, &hook);
    for (uint32_t i = 0; i < rounds(20); ++i) {
      ok(context->signal(r.left(), flags + 4));
      ok(context->quiet());  // of the left neighbour, while the hook puts to the right one
      while (hook.calls < i) EXPECT_EQ(r.wait(flags + 8, kTimeToYield_ns), OMPL_ERR_TIMEOUT);
      ok(r.wait(flags + 4));
    }
    EXPECT_GT(hook.calls, 0U);
    r.set_yield(nullptr, nullptr);
    ok(r.barrier());
  });
}

// A task of the hook that puts once a round, on the context of the call it interrupts, and does not flush.
struct PutOnce {
  static constexpr std::size_t kLength = 48;
  std::unique_ptr<Rank> context;
  uint64_t data;
  uint64_t round = 0, done = 0;
};

int put_once(void* argument) {
  auto& task = *static_cast<PutOnce*>(argument);
  std::this_thread::yield();
  if (task.done == task.round) return 1;
  task.done = task.round;
  const auto source = pattern(PutOnce::kLength, task.round);
  ok(task.context->put(source.data(), task.context->right(), task.data, source.size()));
  return 1;
}

// A call must not forget what the hook does with its context meanwhile.
TEST_P(Conformance, Yield_R17_AFlushCoversWhatTheHookPutDuringAnEarlierOne) {
  world({.ranks = 3, .endpoints = 2})->run([](Rank& r) {
    PutOnce task{.context = r.context(), .data = r.allocate(PutOnce::kLength)};
    const uint64_t flags = r.allocate(16);
    r.set_yield(put_once, &task);
    for (uint64_t i = 1; i <= rounds(40); ++i) {
      task.round = i;
      ok(task.context->signal(r.left(), flags + 4));
      ok(task.context->quiet());
      while (task.done < task.round) EXPECT_EQ(r.wait(flags + 8, kTimeToYield_ns), OMPL_ERR_TIMEOUT);
      ok(task.context->flush());
      ok(r.signal(r.right(), flags));
      ok(r.wait(flags));
      EXPECT_EQ(mismatch(r.own(task.data), PutOnce::kLength, i), PutOnce::kLength) << i;
      ok(r.wait(flags + 4));
      ok(r.barrier());
    }
    r.set_yield(nullptr, nullptr);
    ok(r.barrier());
  });
}

int count_and_answer(void* argument) {
  auto& hook = *static_cast<std::pair<std::atomic<uint32_t>, std::atomic<int>>*>(argument);
  ++hook.first;
  std::this_thread::yield();
  return hook.second;
}

// While the hook has work the thread never sleeps; once it has none the thread does.
TEST_P(Conformance, Yield_R17_ThreadsSleepOnlyWhenTheHookHasNothing) {
  const auto w = world();
  const uint64_t flag = w->allocate(4);
  w->run([&](Rank& r) {
    std::pair<std::atomic<uint32_t>, std::atomic<int>> hook{0, 1};  // calls, answer
    r.set_yield(count_and_answer, &hook);
    const std::unique_ptr<Rank> other = r.context();
    std::jthread waiter([&] { ok(other->wait(flag)); });
    uint32_t asleep = 0;
    while (hook.first < 5000) {
      asleep += r.sleepers();
      std::this_thread::yield();
    }
    EXPECT_EQ(asleep, 0U) << "slept although the hook had work";
    hook.second = 0;
    while (r.sleepers() == 0) nap();  // the time limit of run() is the failure
    ok(r.signal(r.rank, flag));
    waiter.join();
    r.set_yield(nullptr, nullptr);
  });
}

TEST_P(Conformance, Timeouts_R9_ASignalThatTimedOutWasNotSent) {
  world({.endpoints = 1, .credits = 2})->run([](Rank& r) {
    const uint64_t flag = r.allocate(4);
    const uint64_t told = r.allocate(4);
    ok(r.signal(r.right(), flag));  // connects
    uint32_t sent = 1;
    for (uint32_t i = 0; i < rounds(300); ++i) {
      const int code = r.signal(r.right(), flag, i % 2 == 0 ? 0 : 20'000);
      EXPECT_TRUE(code == OMPL_OK || code == OMPL_ERR_TIMEOUT) << code;
      sent += code == OMPL_OK ? 1 : 0;
    }
    ok(r.put(&sent, r.right(), told, sizeof sent));
    ok(r.barrier());
    EXPECT_EQ(r.count(flag), r.count(told));
  });
}

// A put times out before it is posted, or it is posted and a flush completes it: never something between.
TEST_P(Conformance, Timeouts_R9_APutThatTimedOutWasNotPosted) {
  world({.endpoints = 1})->run([](Rank& r) {
    constexpr std::size_t kLength = 900;
    const uint32_t count = rounds(100);
    const uint64_t data = r.allocate(count * kLength);
    const uint64_t told = r.allocate(count);
    const auto source = pattern(kLength, 5);
    std::vector<std::byte> posted(count);
    for (uint32_t i = 0; i < count; ++i) {
      const int code =
          r.put(source.data(), r.right(), data + i * kLength, kLength, i % 2 == 0 ? 0 : 20'000);
      EXPECT_TRUE(code == OMPL_OK || code == OMPL_PENDING || code == OMPL_ERR_TIMEOUT) << code;
      posted[i] = static_cast<std::byte>(code != OMPL_ERR_TIMEOUT);
    }
    ok(r.flush());
    ok(r.put(posted.data(), r.right(), told, count));
    ok(r.barrier());
    const std::vector<std::byte> zero(kLength);
    for (uint32_t i = 0; i < count; ++i) {
      const auto& expected = r.own(told)[i] != std::byte{0} ? source : zero;
      EXPECT_EQ(std::memcmp(r.own(data + i * kLength), expected.data(), kLength), 0) << i;
    }
  });
}

}  // namespace
}  // namespace ompl::conformance
