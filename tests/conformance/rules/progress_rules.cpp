// SPDX-License-Identifier: BSD-3-Clause
// Progress asked for by the program, callbacks, registration, counters: what task schedulers live on.
#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "conformance/conformance.hpp"
#include "core/failure/program_reports.hpp"

namespace ompl::conformance {
namespace {

struct Called {
  std::atomic<uint32_t> times{0};
  std::atomic<int> code{1};
  std::atomic<std::thread::id> thread{};
};
void note(void* argument, int code) {
  auto& called = *static_cast<Called*>(argument);
  called.code = code;
  called.thread = std::this_thread::get_id();
  ++called.times;
}

ompl_condition taking(uint64_t flag) {
  return {.flag_addr = flag, .value = 0, .comparison = OMPL_TAKE, .width = 32};
}

TEST_P(Conformance, Callbacks_OfAPutAndOfAFlag) {
  const auto w = world();
  const uint64_t data = w->allocate(4096);
  const uint64_t flag = w->allocate(8);
  w->run([&](Rank& r) {
    for (uint64_t i = 1; i <= rounds(40); ++i) {
      const auto source = pattern(i % 2 == 0 ? 4096 : 8, i);
      Called put;
      Called arrival;
      ompl_watch watch;
      const ompl_condition condition = taking(flag);
      ok(ompl_flag_then(&watch, &condition, note, &arrival));
      ompl_handle handle = OMPL_HANDLE_INIT;
      const ompl_signal arrived{.flag_addr = flag, .value = 1, .op = OMPL_ADD32};
      int code = OMPL_RETRY_FULL;
      while (code >= OMPL_RETRY_FULL) {
        code = ompl_put_nb(r.ctx(), address(source.data()), r.right(), data, source.size(), &arrived, 0,
                           &handle);
        if (code >= OMPL_RETRY_FULL) ompl_progress(r.ctx(), 0);
      }
      ok(ompl_handle_then(&handle, note, &put));
      while (put.times + arrival.times < 2) EXPECT_GE(ompl_progress(r.ctx(), 1'000'000), 0);
      EXPECT_EQ(put.times, 1U);
      EXPECT_EQ(put.code, OMPL_OK);
      EXPECT_EQ(arrival.times, 1U);
      EXPECT_EQ(arrival.code, OMPL_OK);
      EXPECT_EQ(arrival.thread.load(), std::this_thread::get_id());
      EXPECT_EQ(mismatch(r.own(data), source.size(), i), source.size());
      EXPECT_EQ(r.count(flag), 0U) << "a watch that takes has taken";
      ok(r.signal(r.left(), flag + 4));
      ok(r.wait(flag + 4));
    }
  });
}

// A chain: each callback posts the next, from the memory of the last.
struct Chain {
  ompl_watch watch{};
  ompl_condition condition{};
  ompl_ctx* ctx = nullptr;
  uint32_t next = 0;
  uint32_t steps = 0;
  uint64_t flag = 0;
};
void step(void* argument, int code) {
  auto& chain = *static_cast<Chain*>(argument);
  ok(code);
  if (++chain.steps < 50) ok(ompl_flag_then(&chain.watch, &chain.condition, step, argument));
  ok(ompl_put_word(chain.next, chain.flag));
}

TEST_P(Conformance, Callbacks_R3_MayUseTheLayerAndTheirOwnMemory) {
  const auto w = world();
  const uint64_t flag = w->allocate(8);
  w->run([&](Rank& r) {
    Chain chain{.condition = taking(flag), .ctx = r.ctx(), .next = r.right(), .flag = flag};
    ok(ompl_flag_then(&chain.watch, &chain.condition, step, &chain));
    ok(r.signal(r.right(), flag));
    while (chain.steps < 50) EXPECT_GE(ompl_progress(r.ctx(), 1'000'000), 0);
    ok(r.barrier());
    EXPECT_EQ(r.drain(flag), 1U) << "the last signal of the neighbour";
  });
}

// Several threads progress at once: each callback runs once. One of them sleeps in ompl_progress().
TEST_P(Conformance, Callbacks_RunOnceWhoeverProgresses) {
  constexpr uint32_t kWatches = 40;
  const auto w = world();
  const uint64_t flags = w->allocate(4 * kWatches);
  std::array<std::array<Called, kWatches>, 2> called{};
  std::array<std::array<ompl_watch, kWatches>, 2> watches{};
  w->run([&](Rank& r) {
    for (uint32_t i = 0; i < kWatches; ++i) {
      const ompl_condition condition = taking(flags + 4 * i);
      ok(ompl_flag_then(&watches.at(r.rank).at(i), &condition, note, &called.at(r.rank).at(i)));
    }
  });
  w->run(
      [&](Rank& r) {
        auto& mine = called.at(r.rank);
        if (r.thread == 0) {
          for (uint32_t i = 0; i < kWatches; ++i) {
            ok(r.signal(r.right(), flags + 4 * (i * 7 % kWatches)));
            if (i % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          ok(r.quiet());
        }
        const auto open = [&] {
          return std::ranges::any_of(mine, [](const Called& one) { return one.times == 0; });
        };
        while (open()) EXPECT_GE(ompl_progress(r.ctx(), r.thread == 1 ? 20'000'000 : 0), 0);
      },
      3);
  w->run([&](Rank& r) {
    for (const Called& one : called.at(r.rank)) EXPECT_EQ(one.times, 1U);
  });
}

TEST_P(Conformance, Progress_FindsNothingWhenThereIsNothing) {
  world()->run([](Rank& r) {
    ok(r.barrier());
    const auto begin = std::chrono::steady_clock::now();
    int found = 1;  // others may still be at it
    for (int i = 0; i < 10'000 && found != 0; ++i) found = ompl_progress(r.ctx(), 0);
    EXPECT_EQ(found, 0);
    while (ompl_progress(r.ctx(), 5'000'000) != 0) {
    }
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(5));
    ompl_watch watch;
    ompl_handle handle = OMPL_HANDLE_INIT;
    const ompl_condition condition = taking(0);
    EXPECT_EQ(ompl_flag_then(&watch, &condition, note, nullptr), OMPL_ERR_OFFSET);
    EXPECT_EQ(ompl_flag_then(nullptr, &condition, note, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_handle_then(&handle, nullptr, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_handle_then(nullptr, note, nullptr), OMPL_ERR_ARG);
    Called called;
    ok(ompl_handle_then(&handle, note, &called));  // of no operation: called at once
    while (called.times == 0) ompl_progress(r.ctx(), 1'000'000);
    EXPECT_EQ(called.code, OMPL_OK);
  });
}

// A put from registered memory is like any other; what cannot be registered is refused.
TEST_P(Conformance, Memory_RegionsAreRegisteredExplicitly) {
  const auto w = world();
  const uint64_t data = w->allocate(std::size_t{1} << 20);
  w->run([&](Rank& r) {
    const auto source = pattern(std::size_t{1} << 20, r.rank);
    ok(ompl_register(source.data(), source.size()));
    EXPECT_EQ(ompl_register(source.data() + 100, 8), OMPL_ERR_ARG) << "inside another region";
    EXPECT_EQ(ompl_register(source.data() - 8, 16), OMPL_ERR_ARG) << "reaches into another region";
    EXPECT_EQ(ompl_register(nullptr, 8), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_register(source.data(), 0), OMPL_ERR_ARG);
    ok(r.put(source.data(), r.right(), data, source.size()));
    ok(r.barrier());
    EXPECT_EQ(mismatch(r.own(data), source.size(), r.left()), source.size());
    EXPECT_EQ(ompl_unregister(source.data() + 1), OMPL_ERR_ARG);
    ok(ompl_unregister(source.data()));
    EXPECT_EQ(ompl_unregister(source.data()), OMPL_ERR_ARG) << "gone already";
    ok(ompl_register(source.data() + 4096, 4096));
    ok(ompl_unregister(source.data() + 4096));
  });
}

TEST_P(Conformance, Statistics_CountWhatTheContextDid) {
  const auto w = world({.statistics = true});
  const uint64_t data = w->allocate(256);
  const uint64_t flag = w->allocate(8);
  w->run([&](Rank& r) {
    const std::unique_ptr<Rank> task = r.context();
    std::array<std::byte, 100> bytes{};
    for (Rank* const by : {task.get(), &r}) {
      ompl_statistics before = OMPL_STATISTICS_INIT;
      ok(ompl_ctx_statistics(by->ctx(), &before));
      for (int i = 0; i < 5; ++i) ok(by->put(bytes.data(), r.right(), data, bytes.size()));
      ok(by->get(bytes.data(), r.right(), data, 60));
      ok(by->put_signal(bytes.data(), r.right(), data, 10, flag));
      ok(by->signal(r.right(), flag));
      ok(ompl_ctx_atomic32(by->ctx(), r.right(), flag + 4, OMPL_ATOMIC_ADD, 1, 0, nullptr,
                           OMPL_FOREVER));
      ok(by->wait(flag));
      ok(by->wait(flag));
      ompl_statistics now = OMPL_STATISTICS_INIT;
      ok(ompl_ctx_statistics(by->ctx(), &now));
      EXPECT_EQ(now.puts - before.puts, 6U);
      EXPECT_EQ(now.put_bytes - before.put_bytes, 510U);
      EXPECT_EQ(now.gets - before.gets, 1U);
      EXPECT_EQ(now.get_bytes - before.get_bytes, 60U);
      EXPECT_EQ(now.signals - before.signals, 2U);
      EXPECT_EQ(now.atomics - before.atomics, 1U);
      EXPECT_EQ(now.waits - before.waits, 2U);
      ok(r.barrier());
    }
    ompl_statistics small = OMPL_STATISTICS_INIT;
    small.size = 2 * sizeof(uint64_t);
    small.put_bytes = 99;
    ok(ompl_ctx_statistics(r.ctx(), &small));
    EXPECT_EQ(small.put_bytes, 99U) << "beyond the struct's own size";
    EXPECT_GE(small.puts, 6U);
    EXPECT_EQ(ompl_ctx_statistics(r.ctx(), nullptr), OMPL_ERR_ARG);
  });
  world()->run([](Rank& r) {
    ompl_statistics none = OMPL_STATISTICS_INIT;
    EXPECT_EQ(ompl_ctx_statistics(r.ctx(), &none), OMPL_ERR_UNSUPPORTED) << "not asked for";
  });
}

// Reports are the process's, so each rank has its own text.
TEST_P(Conformance, Reports_StandInTheHangReportUntilTheyAreRemoved) {
  world()->run([](Rank& r) {
    std::string line = "a line of rank " + std::to_string(r.rank) + "\n";
    const ompl_report_fn say = [](char* text, std::size_t capacity, void* what) {
      const auto& all = *static_cast<const std::string*>(what);
      text[all.copy(text, capacity - 1)] = '\0';
      return all.size();
    };
    ok(ompl_report_add(say, &line));
    EXPECT_NE(program_reports().find(line), std::string::npos);
    ok(ompl_report_remove(say, &line));
    EXPECT_EQ(program_reports().find(line), std::string::npos);
    EXPECT_EQ(ompl_report_remove(say, &line), OMPL_ERR_ARG);
  });
}

}  // namespace
}  // namespace ompl::conformance
