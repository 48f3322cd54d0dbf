// SPDX-License-Identifier: BSD-3-Clause
// The progress thread: what others ask of a rank is done while its program is outside the library (docs/explanation/progress.md).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "call_rules.hpp"
#include "conformance/coll_job.hpp"

namespace ompl::conformance {
namespace {

// A rank that computes: it looks at a word of its own memory until that is not 0, and calls nothing of the library.
void compute_until(Rank& r, uint64_t flag) {
  const uint32_t* const word = reinterpret_cast<const uint32_t*>(r.own(flag));
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) std::this_thread::yield();
}

// Rank 0 acts on every rank once all others are about to compute, which they do until it has told them, by its last signal, that it is
// done. `done`: two flags.
template <class Act>
void act_on_who_computes(Rank& r, uint64_t done, Act act) {
  if (r.rank != 0) ok(r.signal(0, done + 4));
  if (r.rank == 0) {
    for (uint32_t other = 1; other < r.size; ++other) ok(r.wait(done + 4));
    for (uint32_t target = 0; target < r.size; ++target) act(target);
    for (uint32_t target = 0; target < r.size; ++target) ok(r.signal(target, done));
    ok(r.quiet());
  }
  compute_until(r, done);
  ok(r.wait(done));
}

struct Areas {
  uint64_t data, words, done;
  std::size_t length;
};

void put_and_get(Rank& r, uint32_t target, const Areas& areas) {
  const auto source = pattern(areas.length, target);
  std::vector<std::byte> back(areas.length);
  ok(r.put(source.data(), target, areas.data, source.size()));
  ok(r.quiet());
  ok(r.get(back.data(), target, areas.data, back.size()));
  EXPECT_EQ(mismatch(back.data(), back.size(), target), back.size());
}

void update_words(uint32_t target, const Areas& areas, uint64_t count) {
  uint64_t before = 0;
  ok(ompl_fetch_add64(target, areas.words, 3, &before));
  EXPECT_EQ(before, 3 * count);
  ok(ompl_compare_swap64(target, areas.words + 8, count, count + 1, &before));
  EXPECT_EQ(before, count);
  ok(ompl_add32(target, areas.words + 16, 1));
  ok(ompl_put_word(target, areas.words + 20));
  ok(ompl_quiet());
  uint32_t added = 0;
  ok(ompl_fetch32(target, areas.words + 16, &added));
  EXPECT_EQ(added, count + 1);
}

Areas areas_of(World& w, std::size_t length) {
  return {w.allocate(length), w.allocate(64), w.allocate(8), length};
}

TEST_P(Conformance, ProgressThread_R2_OneSidedOperationsEndWhileTheTargetComputes) {
  for (const unsigned endpoints : {0U, 1U}) {
    SCOPED_TRACE(endpoints);
    const auto w = world({.ranks = 3, .endpoints = endpoints, .served = true});
    const Areas areas = areas_of(*w, 60'000);
    w->run([&](Rank& r) {
      EXPECT_EQ(ompl_progress_thread(), 1);
      ok(r.barrier());
      for (uint64_t round = 0; round < rounds(2); ++round) {
        act_on_who_computes(r, areas.done, [&](uint32_t target) {
          put_and_get(r, target, areas);
          update_words(target, areas, round);
        });
        EXPECT_EQ(r.count(areas.words + 20), round + 1);
        ok(r.barrier());
      }
    });
  }
}

// The first thing that is asked of a rank is the connection to it.
TEST_P(Conformance, ProgressThread_R2_AConnectionIsMadeWhileTheTargetComputes) {
  const auto w = world({.ranks = 4, .served = true});
  const Areas areas = areas_of(*w, 8);
  w->run([&](Rank& r) {
    if (r.rank == 0) {
      for (uint32_t target = 0; target < r.size; ++target) {
        uint64_t before = 1;
        ok(ompl_fetch_add64(target, areas.words, 1, &before));
        EXPECT_EQ(before, 0U);
        ok(r.signal(target, areas.done));
      }
      ok(r.quiet());
    }
    compute_until(r, areas.done);
  });
}

uint64_t count_calls(void* user, const ompl_call_context* call) {
  return 10 * ++*static_cast<std::atomic<uint32_t>*>(user) + call->source;
}

TEST_P(Conformance, ProgressThread_R26_RunsCallsWhileTheTargetComputes) {
  const auto w = world({.ranks = 3, .served = true});
  const uint64_t done = w->allocate(8);
  w->run([&](Rank& r) {
    std::atomic<uint32_t> calls{0};
    const uint32_t function = add("count_calls", count_calls, &calls);
    ok(r.barrier());
    for (uint64_t round = 1; round <= rounds(5); ++round) {
      act_on_who_computes(r, done, [&](uint32_t target) {
        const ompl_call_request call = request(function, nullptr, 0);
        uint64_t reply = 0;
        ok(ompl_call(r.ctx(), target, &call, &reply, OMPL_FOREVER));
        EXPECT_EQ(reply, 10 * round);
      });
      EXPECT_EQ(calls, round);
      ok(r.barrier());
    }
  });
}

uint64_t ask_for_the_thread(void* /*user*/, const ompl_call_context* /*call*/) {
  return static_cast<uint64_t>(-ompl_set_progress_thread(1));
}

TEST_P(Conformance, ProgressThread_ComesAndGoesAsItIsAskedFor) {
  const auto w = world({.ranks = 2});
  const Areas areas = areas_of(*w, 1000);
  w->run([&](Rank& r) {
    const bool always = ompl_progress_thread() == 1;  // OMPL_TEST_SERVED
    const uint32_t function = add("ask_for_the_thread", ask_for_the_thread, nullptr);
    EXPECT_EQ(ompl_set_progress_thread(0), OMPL_ERR_STATE);
    EXPECT_EQ(ompl_set_progress_thread(2), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_progress_thread(), always ? 1 : 0);
    for (uint64_t round = 0; round < rounds(2); ++round) {
      ok(ompl_set_progress_thread(1));
      ok(ompl_set_progress_thread(1));
      ok(ompl_set_progress_thread(0));
      EXPECT_EQ(ompl_progress_thread(), 1);
      ok(r.barrier());
      act_on_who_computes(r, areas.done, [&](uint32_t target) {
        put_and_get(r, target, areas);
        update_words(target, areas, round);
      });
      ok(ompl_set_progress_thread(0));
      EXPECT_EQ(ompl_progress_thread(), always ? 1 : 0);
    }
    const ompl_call_request call = request(function, nullptr, 0);
    uint64_t reply = 0;
    ok(ompl_call(r.ctx(), r.right(), &call, &reply, OMPL_FOREVER));
    EXPECT_EQ(reply, static_cast<uint64_t>(-OMPL_ERR_STATE)) << "a function may not start or end it";
    ok(r.barrier());
  });
}

// Threads that share one endpoint with it, and send to each other what they then compare.
TEST_P(Conformance, ProgressThread_LeavesOneEndpointToTheProgram) {
  constexpr unsigned kThreads = 4;
  const auto w = world({.ranks = 2, .endpoints = 1, .served = true});
  const uint64_t data = w->allocate(kThreads * 4096);
  const uint64_t flags = w->allocate(kThreads * 256);
  w->run(
      [&](Rank& r) {
        const uint64_t place = data + r.thread * 4096;
        const uint64_t flag = flags + r.thread * 256;
        for (uint64_t round = 1; round <= rounds(50); ++round) {
          const auto source = pattern(1000, round);
          ok(r.put_signal(source.data(), r.right(), place, source.size(), flag));
          ok(r.wait(flag));
          EXPECT_EQ(mismatch(r.own(place), source.size(), round), source.size());
          ok(r.signal(r.left(), flag + 4));
          ok(r.wait(flag + 4));
        }
      },
      kThreads);
}

std::ptrdiff_t progress_threads_here() {
  std::ptrdiff_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    if (std::getline(std::ifstream(task.path() / "comm"), name) && name == "ompl-progress") ++count;
  }
  return count;
}

// Collectives that nobody waits for, and atomics at ranks that compute: by the same thread.
TEST_P(Conformance, ProgressThread_ServesCollectivesToo) {
  const auto w = world({.ranks = 2, .served = true});
  const Areas areas = areas_of(*w, 8);
  w->run([&](Rank& r) {
    constexpr std::size_t kCount = 10'000;
    ompl_team* const team = world_team();
    ok(r.barrier());
    const std::ptrdiff_t before = progress_threads_here();
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_SHARED));
    ok(r.barrier());
    EXPECT_EQ(progress_threads_here(), before);
    for (uint64_t round = 0; round < rounds(2); ++round) {
      const std::vector<uint64_t> mine(kCount, r.rank + round);
      std::vector<uint64_t> sum(kCount);
      ompl_request* request = nullptr;
      ok(ompl_allreduce(team, mine.data(), sum.data(), kCount, OMPL_UINT64, OMPL_SUM, nullptr,
                        &request));
      act_on_who_computes(r, areas.done, [&](uint32_t target) { update_words(target, areas, round); });
      ok(ompl_request_wait(r.ctx(), &request, kCollLimit));
      const uint64_t expected = r.size * round + (r.size - 1);
      EXPECT_EQ(std::ranges::count(sum, expected), std::ssize(sum));
      ok(r.barrier());
    }
  });
}

}  // namespace
}  // namespace ompl::conformance
