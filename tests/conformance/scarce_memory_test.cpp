// SPDX-License-Identifier: BSD-3-Clause
// A member that finds no memory for what an algorithm needs beside the buffers, or to take part at all: those that depend on it are told, and nobody
// waits for ever. Over the mock, and in memory. The allocator of this program refuses what is too long for the thread, or one allocation of its.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "coll_job.hpp"
#include "conduit/mock/tests/fabric.hpp"
#include "scarce_memory.hpp"

namespace ompl::conformance {
namespace {

constexpr uint32_t kScarce = 1;         // the member
constexpr std::size_t kMost = 17'000;   // a message of the mock is shorter
constexpr std::size_t kBlock = 24'000;  // more than that

// Starts a persistent collective; at one member, while memory is scarce.
int start(Rank& r, ompl_request* request) {
  if (r.rank == kScarce) t_most = kMost;
  const int code = ompl_request_start(r.ctx(), request);
  t_most = SIZE_MAX;
  return code;
}

// How a collective ends, by which only one member has no memory.
int outcome(Rank& r, ompl_team* team, int32_t collective, int32_t algorithm) {
  CollJob job({.collective = collective, .algorithm = algorithm, .length = kBlock});
  job.persistent = true;
  ok(job.start(team));
  ok(start(r, job.request));
  const int code = ompl_request_wait(r.ctx(), &job.request, kCollLimit);
  if (code != OMPL_OK) {
    const std::string why = ompl_error_detail();
    EXPECT_NE(why.find("memory"), std::string::npos) << why;
  }
  ok(ompl_request_free(&job.request));
  return code;
}

using Make = std::unique_ptr<Fabric> (*)(uint32_t ranks);

class ScarceMemory : public testing::TestWithParam<Make> {};

TEST_P(ScarceMemory, IsToldToThoseWhoDependOnIt) {
  constexpr uint32_t kRanks = 3;
  ThreadWorld world(GetParam()(kRanks), {.ranks = kRanks});
  std::atomic<uint32_t> told{0};
  world.run([&](Rank& r) {
    ompl_team* const team = world_team();
    for_every_collective([&](int32_t collective) {
      std::array<int32_t, 16> algorithms{};
      std::size_t count = 0;
      ok(ompl_coll_algorithms(collective, algorithms.data(), algorithms.size(), &count));
      for (std::size_t i = 0; i < count; ++i) {
        SCOPED_TRACE(ompl_algorithm_name(algorithms[i]));
        int32_t code = outcome(r, team, collective, algorithms[i]);
        EXPECT_TRUE(code == OMPL_OK || code == OMPL_ERR_MEMORY) << ompl_error_detail();
        // What every member has got; the team goes on.
        std::array<int32_t, kRanks> codes{};
        ok(ompl_allgather(team, &code, codes.data(), sizeof code, nullptr, nullptr));
        const bool by_all =
            collective == OMPL_ALLREDUCE || collective == OMPL_ALLGATHER || collective == OMPL_ALLTOALL;
        if (codes[kScarce] == OMPL_OK) {
          EXPECT_EQ(code, OMPL_OK) << ompl_error_detail();
        } else if (by_all) {
          EXPECT_EQ(code, OMPL_ERR_MEMORY);
          ++told;
        }
      }
    });
  });
  EXPECT_GT(told, 0U);
}

// Member 1 is to put the result straight into a buffer of member 0, which has said where it is.
TEST_P(ScarceMemory, LongMessagesAreGivenUp) {
  constexpr std::size_t kCount = 100'000;
  ThreadWorld world(GetParam()(3), {.ranks = 3});
  world.run([&](Rank& r) {
    ompl_team* const team = world_team();
    const uint64_t memory = r.allocate(2 * kCount * sizeof(uint64_t));
    auto* const mine = reinterpret_cast<uint64_t*>(r.own(memory));
    uint64_t* const sum = mine + kCount;
    std::fill_n(mine, kCount, r.rank + 1);
    ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
    options.algorithm = OMPL_COLL_RECURSIVE_DOUBLING;
    options.persistent = 1;
    ompl_request* request = nullptr;
    ok(ompl_allreduce(team, mine, sum, kCount, OMPL_UINT64, OMPL_SUM, &options, &request));
    ok(start(r, request));
    EXPECT_EQ(ompl_request_wait(r.ctx(), &request, kCollLimit), OMPL_ERR_MEMORY);
    EXPECT_EQ(std::ranges::count(sum, sum + kCount, 6U), 0);
    ok(ompl_request_start(r.ctx(), request));
    ok(ompl_request_wait(r.ctx(), &request, kCollLimit));
    EXPECT_EQ(std::ranges::count(sum, sum + kCount, 6U), std::ptrdiff_t{kCount});
    ok(ompl_request_free(&request));
  });
}

// Calls of one element, blocks listed or not; persistent, if there is a place for the request.
using Start = int (*)(ompl_team* team, ompl_request** request);
int add_up(ompl_team* team, ompl_request** request) {
  uint64_t sum = 1;
  ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
  options.persistent = request != nullptr ? 1 : 0;
  return ompl_allreduce(team, OMPL_IN_PLACE, &sum, 1, OMPL_UINT64, OMPL_SUM, &options, request);
}
int put_together(ompl_team* team, ompl_request** request) {
  constexpr std::array<std::size_t, 3> kLengths{8, 8, 8};
  std::array<uint64_t, 3> all{};
  ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
  options.persistent = request != nullptr ? 1 : 0;
  return ompl_allgatherv(team, OMPL_IN_PLACE, all.data(), kLengths.data(), nullptr, &options, request);
}

// To make the request for such a call, the first of its team, and to start it.
std::size_t allocations_of(Start call, ompl_team* team) {
  ompl_request* request = nullptr;
  const std::size_t before = t_made;
  ok(call(team, &request));
  const std::size_t made = t_made - before;
  ok(ompl_request_free(&request));
  return made + 1;  // for how far it has come
}

// Each allocation in turn that a member makes to take part is refused.
TEST_P(ScarceMemory, WhoCannotTakePartLeavesTheTeam) {
  const std::array<uint32_t, 3> everybody{0, 1, 2};
  ThreadWorld world(GetParam()(3), {.ranks = 3});
  world.run([&](Rank& r) {
    ompl_team* const all = world_team();
    for (const Start call : {add_up, put_together}) {
      uint64_t count = 1;
      for (uint64_t i = 0; i <= count; ++i) {  // the first time it is counted how many there are
        ompl_team* team = nullptr;
        ok(ompl_team_create(everybody.data(), everybody.size(), nullptr, &team));
        if (i == 0) {
          count = allocations_of(call, team);
          EXPECT_GT(count, 0U);
          ok(ompl_broadcast(all, &count, sizeof count, kScarce, nullptr, nullptr));
          ok(call(team, nullptr));
        } else {
          if (r.rank == kScarce) t_refused = t_made + i;
          EXPECT_EQ(call(team, nullptr), OMPL_ERR_MEMORY) << i;
          t_refused = 0;
          EXPECT_NE(std::string(ompl_error_detail()).find("memory"), std::string::npos);
          EXPECT_EQ(ompl_team_barrier(team, nullptr, nullptr), OMPL_ERR_MEMORY) << "and so it stays";
        }
        ok(ompl_team_destroy(team));
      }
    }
    ok(ompl_team_barrier(all, nullptr, nullptr));
  });
}

// To make one that is persistent is nobody else's business.
TEST_P(ScarceMemory, APersistentRequestCanBeMadeLater) {
  ThreadWorld world(GetParam()(3), {.ranks = 3});
  world.run([&](Rank& r) {
    ompl_team* const team = world_team();
    ompl_request* request = nullptr;
    if (r.rank == kScarce) {
      t_refused = t_made + 1;
      EXPECT_EQ(add_up(team, &request), OMPL_ERR_MEMORY);
      EXPECT_EQ(request, nullptr);
    }
    t_refused = 0;
    ok(add_up(team, nullptr));
  });
}

std::unique_ptr<Fabric> apart(uint32_t ranks) {
  return std::make_unique<MockFabric>(ranks, conduit::mock::Hostility{});
}
std::unique_ptr<Fabric> on_one_node(uint32_t ranks) {
  return std::make_unique<NodesFabric>(ranks, [](uint32_t) { return std::string("a"); });
}
std::unique_ptr<Fabric> on_two_nodes(uint32_t ranks) {
  return std::make_unique<NodesFabric>(ranks, [](uint32_t rank) { return std::to_string(rank % 2); });
}

INSTANTIATE_TEST_SUITE_P(Members, ScarceMemory, testing::Values(apart, on_one_node, on_two_nodes));

}  // namespace
}  // namespace ompl::conformance
