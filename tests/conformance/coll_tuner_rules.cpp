// SPDX-License-Identifier: BSD-3-Clause
// Collectives while the tuner tries their algorithms: the results are right, and the members, who must choose alike, have found the same.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "api/process.hpp"
#include "api/team.hpp"
#include "coll/engine.hpp"
#include "coll_job.hpp"
#include "conformance.hpp"
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
