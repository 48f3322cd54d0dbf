// SPDX-License-Identifier: BSD-3-Clause
// Callbacks of collectives: they run in ompl_progress() alone, once each, with what the collective ended with.
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "conformance/coll_job.hpp"
#include "conformance/conformance.hpp"
#include "omnipgas/coll.h"

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
void progress_until(Rank& r, const std::atomic<uint32_t>& times, uint32_t wanted) {
  while (times < wanted) ASSERT_GE(ompl_progress(r.ctx(), kCollLimit), 0);
}

// Nobody waits for any of them but in ompl_progress(), which sleeps meanwhile.
TEST_P(Conformance, Coll_CallbacksRunOnceEach) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const team = world_team();
    for (uint32_t round = 0; round < rounds(4); ++round) {
      std::vector<std::unique_ptr<CollJob>> jobs;
      std::vector<Called> called(OMPL_EXSCAN + 1);
      for (int32_t collective = OMPL_BARRIER; collective <= OMPL_EXSCAN; ++collective) {
        CollJob& one = *jobs.emplace_back(std::make_unique<CollJob>());
        one.collective = collective;
        one.length = 8 * (1 + round * 977 % 2000);
        one.tag = static_cast<uint32_t>(collective) % 4;
        ASSERT_EQ(one.start(team), OMPL_OK) << ompl_error_detail();
        ok(ompl_request_then(&one.request, note, &called[static_cast<std::size_t>(collective)]));
        EXPECT_EQ(one.request, nullptr);
      }
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        progress_until(r, called[i].times, 1);
        EXPECT_EQ(called[i].code, OMPL_OK);
        EXPECT_EQ(called[i].thread.load(), std::this_thread::get_id());
        jobs[i]->check();
      }
      ok(r.barrier());
      EXPECT_GE(ompl_progress(r.ctx(), 0), 0);
      for (const Called& one : called) EXPECT_EQ(one.times, 1U);
    }
  });
}

// Four threads of each rank, one of which progresses for all.
TEST_P(Conformance, Coll_CallbacksRunInTheThreadThatProgresses) {
  const auto job = world({.ranks = 2});
  job->run([](Rank&) { world_team(); });
  std::array<std::array<Called, 4>, 2> called;
  job->run(
      [&](Rank& r) {
        if (r.size < 2) return;
        ompl_team* const team = world_team();
        uint64_t sum = r.rank;
        ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
        options.tag = r.thread;
        ompl_request* request = nullptr;
        ok(ompl_allreduce(team, OMPL_IN_PLACE, &sum, 1, OMPL_UINT64, OMPL_SUM, &options, &request));
        Called& mine = called[r.rank].at(r.thread);
        ok(ompl_request_then(&request, note, &mine));
        if (r.thread == 0) {
          for (const Called& one : called[r.rank]) progress_until(r, one.times, 1);
        } else {
          while (mine.times == 0) std::this_thread::yield();  // outside the layer
        }
        EXPECT_EQ(mine.code, OMPL_OK);
        EXPECT_EQ(sum, 1U);
      },
      4);
}

struct Chain {
  ompl_request* request = nullptr;
  uint32_t more = 0;
  std::atomic<uint32_t> steps{0};
};
void step(void* argument, int code) {
  auto& chain = *static_cast<Chain*>(argument);
  EXPECT_EQ(code, OMPL_OK);
  if (chain.more-- > 0) {
    ok(ompl_request_start(OMPL_CTX_DEFAULT, chain.request));
    ok(ompl_request_then(&chain.request, step, argument));
  }
  ++chain.steps;
}

TEST_P(Conformance, Coll_ACallbackMayStartItsCollectiveAgain) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const team = world_team();
    ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
    options.persistent = 1;
    Chain chain;
    chain.more = 20;
    ok(ompl_team_barrier(team, &options, &chain.request));
    ok(ompl_request_then(&chain.request, step, &chain));  // not started: it is complete
    EXPECT_NE(chain.request, nullptr);
    progress_until(r, chain.steps, 21);
    ok(ompl_request_free(&chain.request));
  });
}

TEST_P(Conformance, Coll_WrongRequestsForCallbacks) {
  world({.ranks = 2})->run([](Rank& r) {
    ompl_team* const world = world_team();
    ompl_team* team = nullptr;
    ok(ompl_team_split(world, 0, static_cast<int32_t>(r.rank), nullptr, &team));
    Called called;
    ompl_request* request = nullptr;
    EXPECT_EQ(ompl_request_then(nullptr, note, &called), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_request_then(&request, note, &called), OMPL_ERR_ARG);
    ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
    options.persistent = 1;
    ok(ompl_team_barrier(team, &options, &request));
    EXPECT_EQ(ompl_request_then(&request, nullptr, &called), OMPL_ERR_ARG);
    ok(ompl_request_start(r.ctx(), request));
    ok(ompl_request_then(&request, note, &called));
    EXPECT_EQ(ompl_request_then(&request, note, &called), OMPL_ERR_STATE);
    progress_until(r, called.times, 1);
    ok(ompl_request_free(&request));
    // Complete or not, it is called, and the team stays until then.
    ok(ompl_team_barrier(team, nullptr, &request));
    ok(ompl_team_barrier(world, nullptr, nullptr));
    ok(ompl_request_then(&request, note, &called));
    EXPECT_EQ(ompl_team_destroy(team), OMPL_ERR_STATE);
    EXPECT_EQ(called.times, 1U);
    progress_until(r, called.times, 2);
    ok(ompl_team_destroy(team));
  });
}

}  // namespace
}  // namespace ompl::conformance
