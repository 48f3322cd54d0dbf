// SPDX-License-Identifier: BSD-3-Clause
// Collectives while the tuner tries their algorithms: the results are right, and the members, who must choose alike, have found the same.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "api/call.hpp"
#include "api/process.hpp"
#include "coll/engine.hpp"
#include "conformance/coll_job.hpp"
#include "conformance/conformance.hpp"
#include "omnipgas/coll.h"

namespace ompl::conformance {
namespace {

constexpr uint32_t kMostRanks = 5;

// What this rank knows of the calls of a team, once they have settled.
coll::Table findings(const ompl_team* team) {
  coll::Table table;
  api::team_of(team)->tell(&table);
  return table;
}

// Of the ranks of this process; the others' stay empty.
using Tables = std::array<coll::Table, kMostRanks>;

void expect_alike(const Tables& tables) {
  const auto first = std::ranges::find_if(tables, [](const coll::Table& t) { return !t.empty(); });
  ASSERT_NE(first, tables.end()) << "nothing has settled";
  for (const coll::Table& table : tables)
    if (!table.empty()) {
      EXPECT_EQ(table.text(), first->text());
    }
}

// Blocking calls until they have settled, which members learn at the same call, and some more.
TEST_P(Conformance, Coll_TunedCallsSettleAlike) {
  constexpr uint32_t kMostCalls = 2000;
  Tables tables;
  world({.ranks = 3, .tunes = true})->run([&](Rank& r) {
    ompl_team* const team = world_team();
    if (r.size < 2) return;
    CollJob job({.collective = OMPL_ALLREDUCE, .length = 40});
    for (uint32_t call = 0; call < kMostCalls && findings(team).empty(); ++call) {
      job.run(team);
      ASSERT_FALSE(testing::Test::HasFailure()) << "call " << call;
    }
    for (uint32_t call = 0; call < rounds(40); ++call) job.run(team);
    tables[r.rank] = findings(team);
  });
  if (GetParam().most_ranks > 1) expect_alike(tables);
}

// Nonblocking ones, several under way on each of two teams that share members, the last waited for first.
TEST_P(Conformance, Coll_TunedCallsOfSeveralTeamsAtOnce) {
  world({.ranks = kMostRanks, .tunes = true})->run([&](Rank& r) {
    ompl_team* const all = world_team();
    ompl_team* half = nullptr;
    ok(ompl_team_split(all, static_cast<int32_t>(r.rank % 2), 0, nullptr, &half));
    for (uint32_t round = 0; round < rounds(12); ++round) {
      std::vector<std::unique_ptr<CollJob>> jobs;
      for (int32_t collective = OMPL_BARRIER; collective <= OMPL_EXSCAN; ++collective) {
        for (ompl_team* const team : {all, half}) {
          jobs.push_back(std::make_unique<CollJob>());
          jobs.back()->collective = collective;
          jobs.back()->length = 24;
          jobs.back()->in_place = round % 2 != 0 && collective > OMPL_BROADCAST;
          jobs.back()->tag = round % 2;
          ASSERT_EQ(jobs.back()->start(team), OMPL_OK) << ompl_error_detail();
        }
      }
      for (auto one = jobs.rbegin(); one != jobs.rend(); ++one) {
        ok(ompl_request_wait(OMPL_CTX_DEFAULT, &(*one)->request, kCollLimit));
        (*one)->check();
      }
      ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round;
    }
    ok(ompl_team_destroy(half));
  });
}

// A persistent request gets its algorithm at each turn, also from a progress thread; long data; members' calls compared first.
TEST_P(Conformance, Coll_TunedPersistentAndCheckedCalls) {
  world({.ranks = 3, .checks = true, .tunes = true})->run([](Rank& r) {
    ompl_team* const team = world_team();
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_SHARED));
    for (const int32_t collective : {OMPL_ALLREDUCE, OMPL_BROADCAST, OMPL_ALLTOALL}) {
      CollJob job({.collective = collective, .length = 40'000});
      job.persistent = true;
      ok(job.start(team));
      for (uint32_t i = 0; i < rounds(10); ++i) {
        job.fill(team, i);
        ok(ompl_request_start(r.ctx(), job.request));
        ok(ompl_request_wait(r.ctx(), &job.request, kCollLimit));
        job.check(i);
        ASSERT_FALSE(testing::Test::HasFailure()) << i;
      }
      ok(ompl_request_free(&job.request));
    }
  });
}

// Who makes progress is chosen with the algorithm, alike by all; also where a member keeps to a mode of its own, and where the next
// call begins before the last one is over.
TEST_P(Conformance, Coll_TunedModesOfProgress) {
  constexpr uint32_t kCalls = 300;
  Tables tables;
  world({.ranks = 3, .tunes = true, .modes = true})->run([&](Rank& r) {
    ompl_team* const team = world_team();
    EXPECT_EQ(ompl_team_progress(team), OMPL_PROGRESS_AUTO);
    if (r.size < 2) return;
    std::array<CollJob, 2> jobs;
    for (CollJob& job : jobs) {
      job.collective = OMPL_ALLREDUCE;
      job.algorithm = OMPL_COLL_RECURSIVE_DOUBLING;
      job.length = 8000;
    }
    for (uint32_t call = 0; call < rounds(kCalls); ++call) {
      CollJob& job = jobs[call % 2];
      CollJob& before = jobs[(call + 1) % 2];
      ASSERT_EQ(job.start(team), OMPL_OK) << ompl_error_detail();
      if (call == 40 && r.rank == 1) ok(ompl_team_set_progress(team, OMPL_PROGRESS_SHARED));
      if (call == 80 && r.rank == 1) ok(ompl_team_set_progress(team, OMPL_PROGRESS_AUTO));
      ok(ompl_request_wait(r.ctx(), &before.request, kCollLimit));
      if (call > 0) before.check();
      ASSERT_FALSE(testing::Test::HasFailure()) << "call " << call;
    }
    for (CollJob& job : jobs) ok(ompl_request_wait(r.ctx(), &job.request, kCollLimit));
    tables[r.rank] = findings(team);
  });
  if (GetParam().most_ranks > 1 && rounds(kCalls) == kCalls) expect_alike(tables);
}

TEST_P(Conformance, Coll_ModesAreTunedOnlyWhereAllKnow) {
  world({.ranks = 2, .checks = true, .tunes = true, .modes = true})->run([](Rank& r) {
    ompl_team* const team = world_team();
    if (r.size < 2) return;
    CollJob job({.collective = OMPL_ALLREDUCE, .length = 64});
    ASSERT_EQ(job.start(team), OMPL_OK);
    ok(ompl_request_wait(r.ctx(), &job.request, kCollLimit));
    uint32_t value = 1;
    uint32_t sum = 0;
    ompl_request* request = nullptr;
    int code = ompl_allreduce(team, &value, &sum, 1, OMPL_UINT32, OMPL_SUM, nullptr,
                              r.rank == 0 ? &request : nullptr);
    if (r.rank == 0) code = ompl_request_wait(r.ctx(), &request, kCollLimit);
    EXPECT_EQ(code, OMPL_ERR_ARG) << "one waits in the call, the other has a request";
  });
  world({.ranks = 2, .tunes = true})->run([](Rank&) {
    EXPECT_EQ(ompl_team_set_progress(world_team(), OMPL_PROGRESS_AUTO), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_team_progress(world_team()), OMPL_PROGRESS_NONE);
  });
}

// What is not left open, and what has listed lengths, is left alone.
TEST_P(Conformance, Coll_NothingIsTunedThatNeedNotBe) {
  world({.ranks = 3, .tunes = true})->run([](Rank&) {
    ompl_team* const team = world_team();
    CollJob ring({.collective = OMPL_ALLREDUCE, .algorithm = OMPL_COLL_RING, .length = 64});
    CollJob listed({.collective = OMPL_ALLGATHER, .length = 64});
    listed.lists = true;
    CollJob only({.collective = OMPL_SCAN, .length = 64});
    for (uint32_t i = 0; i < rounds(30); ++i)
      for (CollJob* const job : {&ring, &listed, &only}) job->run(team);
    EXPECT_TRUE(findings(team).empty());
  });
}

}  // namespace
}  // namespace ompl::conformance
