// SPDX-License-Identifier: BSD-3-Clause
// Teams and collectives of which a member dies, or a rank outside.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "conformance/doomed.hpp"
#include "omnipgas/coll.h"
#include "omnipgas/ompl_memory.h"

namespace ompl::conformance {
namespace {

using conduit::mock::Hostility;

// Each member of the ring needs what the dead one would have combined; who is left makes a new team.
TEST(MockFailure, R18_ACollectiveWhoseMemberDiesInTheMiddleFailsAtAllOthers) {
  constexpr std::size_t kCount = 200'000;
  Doomed doomed({}, {.ranks = 3});
  doomed.run([&](Rank& r) {
    ompl_team* team = nullptr;
    ok(ompl_team_world(&team));
    const uint64_t flag = r.allocate(4);
    doomed.settle(r, flag);
    const std::vector<uint64_t> mine(kCount, r.rank);
    std::vector<uint64_t> sum(kCount);
    ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
    options.algorithm = OMPL_COLL_RING;
    ompl_request* request = nullptr;
    ok(ompl_allreduce(team, mine.data(), sum.data(), kCount, OMPL_UINT64, OMPL_SUM, &options,
                      &request));
    if (r.rank == 1) {
      EXPECT_EQ(ompl_request_test(r.ctx(), &request), 0);
      doomed.wire().kill(1);
      return;
    }
    EXPECT_TRUE(is_failure(ompl_request_wait(r.ctx(), &request, OMPL_FOREVER)));
    int code = 0;
    while (request != nullptr && code == 0) code = ompl_request_test(r.ctx(), &request);
    EXPECT_EQ(request, nullptr);
    EXPECT_TRUE(is_failure(ompl_team_barrier(team, nullptr, nullptr))) << "and so it stays";
    EXPECT_EQ(ompl_failure_ack(), 1);
    EXPECT_TRUE(is_failure(ompl_team_barrier(team, nullptr, nullptr)));
    const std::array<uint32_t, 2> left{0, 2};
    ok(ompl_team_create(left.data(), left.size(), nullptr, &team));
    ok(ompl_allreduce(team, mine.data(), sum.data(), kCount, OMPL_UINT64, OMPL_SUM, nullptr, nullptr));
    EXPECT_EQ(std::ranges::count(sum, 2U), std::ssize(sum));
    static_cast<void>(r.quiet());  // what was sent to the dead rank is told once
    doomed.settle(r, flag, 3 + 2);
  });
}

// A callback waits for it: it is called with the failure.
TEST(MockFailure, R18_TheCallbackOfACollectiveWhoseMemberDiesHearsOfIt) {
  constexpr std::size_t kCount = 200'000;
  Doomed doomed({}, {.ranks = 3});
  doomed.run([&](Rank& r) {
    ompl_team* team = nullptr;
    ok(ompl_team_world(&team));
    const uint64_t flag = r.allocate(4);
    doomed.settle(r, flag);
    std::vector<uint64_t> sum(kCount, r.rank);
    ompl_request* request = nullptr;
    ok(ompl_allreduce(team, OMPL_IN_PLACE, sum.data(), kCount, OMPL_UINT64, OMPL_SUM, nullptr,
                      &request));
    if (r.rank == 1) {
      doomed.wire().kill(1);
      return;
    }
    std::atomic<int> code{1};
    const auto note = [](void* argument, int told) {
      *static_cast<std::atomic<int>*>(argument) = told;
    };
    ok(ompl_request_then(&request, note, &code));
    while (code == 1) ompl_progress(r.ctx(), 1'000'000);
    EXPECT_TRUE(is_failure(code));
    EXPECT_EQ(ompl_failure_ack(), 1);
    static_cast<void>(r.quiet());  // what was sent to the dead rank is told once
    doomed.settle(r, flag, 3 + 2);
  });
}

// Who waits in a team of others goes on waiting, and finds it whole.
TEST(MockFailure, R18_TheDeathOfOthersIsNoMatterOfATeam) {
  const std::array<uint32_t, 2> pair{0, 1};
  Doomed doomed({}, {.ranks = 3});
  std::atomic<bool> dead{false};
  doomed.run([&](Rank& r) {
    ompl_team* team = nullptr;
    ok(ompl_team_world(&team));
    if (r.rank < 2) ok(ompl_team_create(pair.data(), pair.size(), nullptr, &team));
    const uint64_t flag = r.allocate(4);
    doomed.settle(r, flag);
    if (r.rank == 2) {
      doomed.wire().kill(2);
      dead = true;
      return;
    }
    for (const bool blocks : {true, false}) {
      if (r.rank == 1) {
        while (!dead) ::sched_yield();
        std::this_thread::sleep_for(
            std::chrono::milliseconds(300));  // rank 0 looks for deaths meanwhile
      }
      uint64_t sum = r.rank + 1;
      ompl_request* request = nullptr;
      ok(ompl_allreduce(team, OMPL_IN_PLACE, &sum, 1, OMPL_UINT64, OMPL_SUM, nullptr,
                        blocks ? nullptr : &request));
      ok(ompl_request_wait_all(r.ctx(), &request, 1, OMPL_FOREVER));
      EXPECT_EQ(sum, 3U);
    }
    EXPECT_EQ(ompl_failure_ack(), 1);
    doomed.settle(r, flag, 3 + 2);
  });
}

// A member dies before it comes, in the middle, or after: the others get an error, or the memory, and go on.
TEST(MockFailure, R18_ATeamsAllocationWithADeadMemberFailsAtAllOthers) {
  Doomed doomed({}, {.ranks = 3});
  doomed.run([&](Rank& r) {
    ompl_team* team = nullptr;
    ok(ompl_team_world(&team));
    const uint64_t flag = r.allocate(4);
    uint64_t first = 0;
    ok(ompl_team_alloc(team, 5000, &first));
    doomed.settle(r, flag);
    if (r.rank == 1) {
      doomed.wire().kill(1);
      return;
    }
    uint64_t offset = 42;
    EXPECT_TRUE(is_failure(ompl_team_alloc(team, 5000, &offset)));
    EXPECT_EQ(offset, 42U);
    EXPECT_TRUE(is_failure(ompl_team_free(team, first)));
    EXPECT_EQ(ompl_failure_ack(), 1);
    EXPECT_TRUE(is_failure(ompl_team_alloc(team, 5000, &offset)));
    const std::array<uint32_t, 2> left{0, 2};
    ok(ompl_team_create(left.data(), left.size(), nullptr, &team));
    ok(ompl_team_alloc(team, 5000, &offset));
    EXPECT_LT(offset, first) << "what the dead one shared is still theirs";
    const uint64_t value = 10 + r.rank;
    ok(r.put(&value, 2 - r.rank, offset, sizeof value));
    ok(ompl_team_barrier(team, nullptr, nullptr));
    ok(ompl_team_free(team, offset));
    static_cast<void>(r.quiet());  // what was sent to the dead rank is told once
    doomed.settle(r, flag, 3 + 2);
  });
}

// Its request, which nobody has freed, would be left without it.
TEST(MockFailure, R18_ATeamWithARequestStaysAlsoAfterADeath) {
  Doomed doomed({}, {.ranks = 2});
  doomed.run([&](Rank& r) {
    const std::array<uint32_t, 2> all{0, 1};
    ompl_team* team = nullptr;
    ok(ompl_team_world(&team));
    ok(ompl_team_create(all.data(), all.size(), nullptr, &team));
    doomed.settle(r, r.allocate(4));
    if (r.rank == 1) {
      doomed.wire().kill(1);
      return;
    }
    uint64_t sum = 1;
    ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
    options.persistent = 1;
    ompl_request* request = nullptr;
    ok(ompl_allreduce(team, OMPL_IN_PLACE, &sum, 1, OMPL_UINT64, OMPL_SUM, &options, &request));
    EXPECT_EQ(ompl_team_destroy(team), OMPL_ERR_STATE);
    ok(ompl_request_free(&request));
    EXPECT_TRUE(is_failure(ompl_team_destroy(team)));
  });
}

// Of those left all or only one have tried to make, or to end, a team with the dead one.
TEST(MockFailure, R18_TeamsCanBeMadeAfterOneCouldNot) {
  const std::array<uint32_t, 3> all{0, 1, 2};
  const std::array<uint32_t, 2> left{0, 2};
  for (const bool both_try : {true, false}) {
    SCOPED_TRACE(both_try);
    Doomed doomed({}, {.ranks = 3});
    doomed.run([&](Rank& r) {
      ompl_team* team = nullptr;
      ompl_team* old = nullptr;
      ok(ompl_team_world(&team));
      ok(ompl_team_create(all.data(), all.size(), nullptr, &old));
      const uint64_t flag = r.allocate(4);
      doomed.settle(r, flag);
      if (r.rank == 1) {
        doomed.wire().kill(1);
        return;
      }
      if (both_try || r.rank == 0) {
        ompl_team* none = nullptr;
        EXPECT_TRUE(is_failure(ompl_team_create(all.data(), all.size(), nullptr, &none)));
        EXPECT_EQ(none, nullptr);
        EXPECT_TRUE(is_failure(ompl_team_create(all.data(), all.size(), nullptr, &none)));
        EXPECT_TRUE(is_failure(ompl_team_destroy(old)));
      }
      EXPECT_TRUE(is_failure(r.wait(flag)));
      EXPECT_EQ(ompl_failure_ack(), 1);
      for (uint32_t round = 0; round < 20; ++round) {
        ok(ompl_team_create(left.data(), left.size(), nullptr, &team));
        uint64_t sum = r.rank;
        ok(ompl_allreduce(team, OMPL_IN_PLACE, &sum, 1, OMPL_UINT64, OMPL_SUM, nullptr, nullptr));
        EXPECT_EQ(sum, 2U);
        ok(ompl_team_destroy(team));
      }
      static_cast<void>(r.quiet());  // what was sent to the dead rank is told once
      doomed.settle(r, flag, 3 + 2);
    });
  }
}

// Rank 2 leaves out rank 0, which would wait for it: rank 1 finds that and ends it. Later exchanges find no stale word, also where
// rank 0 has said more to rank 2 than a channel holds.
TEST(MockTeams, ListsThatNameDifferentRanksEndWithAnErrorAtAllWhoWait) {
  const auto world =
      std::make_unique<ThreadWorld>(std::make_unique<MockFabric>(4, Hostility{}), Shape{.ranks = 4});
  world->run([&](Rank& r) {
    const std::array<uint32_t, 3> wide{0, 1, 2};
    const std::array<uint32_t, 2> narrow{1, 2};
    const std::array<uint32_t, 4> everybody{3, 2, 1, 0};
    ompl_team* team = nullptr;
    ok(ompl_team_world(&team));
    for (uint32_t round = 0; round < 20; ++round) {
      const uint32_t tries = round % 10 == 9 ? 12 : 1;
      for (uint32_t i = 0; i < tries; ++i) {
        ompl_team* none = nullptr;
        const bool short_list = r.rank == 2;
        if (r.rank < 3) {
          EXPECT_EQ(ompl_team_create(short_list ? narrow.data() : wide.data(), short_list ? 2 : 3,
                                     nullptr, &none),
                    OMPL_ERR_ARG);
        }
        EXPECT_EQ(none, nullptr);
        ok(r.barrier());
      }
      uint64_t sum = r.rank;
      if (r.rank < 3 && round % 2 == 0) {
        ok(ompl_team_create(wide.data(), wide.size(), nullptr, &team));
        ok(ompl_allreduce(team, OMPL_IN_PLACE, &sum, 1, OMPL_UINT64, OMPL_SUM, nullptr, nullptr));
        EXPECT_EQ(sum, 3U);
        ok(ompl_team_destroy(team));
      }
      if (round % 3 == 0) {
        sum = r.rank;
        ok(ompl_team_create(everybody.data(), everybody.size(), nullptr, &team));
        ok(ompl_allreduce(team, OMPL_IN_PLACE, &sum, 1, OMPL_UINT64, OMPL_SUM, nullptr, nullptr));
        EXPECT_EQ(sum, 6U);
        ok(ompl_team_destroy(team));
      }
    }
  });
}

// The barrier of eight ranks needs no connection between ranks 0 and 3, and may be over before anybody looks for failures.
TEST(MockFailure, R18_ABarrierFailsAtOnceAfterACallHasToldOfAFailure) {
  for (uint64_t seed = 1; seed <= rounds(5); ++seed) {
    Doomed doomed({.seed = seed, .spurious_retry = 0}, {.ranks = 8, .endpoints = 1});
    std::atomic<uint32_t> done{0};
    doomed.run([&](Rank& r) {
      const uint64_t flag = r.allocate(8);
      doomed.settle(r, flag);
      if (r.rank == 0) {
        doomed.wire().break_link(0, 0, 3);
        while (!is_failure(r.signal(3, flag))) {
        }
      }
      EXPECT_TRUE(is_failure(r.barrier()));
      ++done;
      while (done < r.size) static_cast<void>(r.poll(flag));
    });
  }
}

}  // namespace
}  // namespace ompl::conformance
