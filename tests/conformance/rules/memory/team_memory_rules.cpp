// SPDX-License-Identifier: BSD-3-Clause
// Memory that the members of a team allocate together.
#include <algorithm>
#include <array>
#include <cstring>

#include "conformance/coll_job.hpp"
#include "conformance/conformance.hpp"
#include "omnipgas/ompl_memory.h"

namespace ompl::conformance {
namespace {

ompl_team* team_of(std::initializer_list<uint32_t> ranks) {
  ompl_team* team = nullptr;
  ok(ompl_team_create(ranks.begin(), ranks.size(), nullptr, &team));
  return team;
}

// Each member writes to each other one at the same offset, and tells it.
void exchange(Rank& r, ompl_team* team, uint64_t offset, std::size_t size) {
  const auto members = static_cast<uint32_t>(ompl_team_size(team));
  const auto me = static_cast<uint32_t>(ompl_team_rank(team));
  const std::size_t share = (size - 64) / members;
  for (uint32_t member = 0; member < members; ++member) {
    const auto target = static_cast<uint32_t>(ompl_team_world_rank(team, member));
    const auto data = pattern(share, 100 * me + member);
    ok(r.put_signal(data.data(), target, offset + 64 + me * share, share, offset));
  }
  for (uint32_t member = 0; member < members; ++member) ok(r.wait(offset));
  for (uint32_t member = 0; member < members; ++member)
    EXPECT_EQ(mismatch(r.own(offset) + 64 + member * share, share, 100 * member + me), share);
}

// Teams that overlap, whose members have taken different things alone before, so that what is free differs.
TEST_P(Conformance, TeamMemory_IsAtOneOffsetOfItsMembers) {
  world({.ranks = 4})->run([](Rank& r) {
    ompl_team* const all = world_team();
    if (r.size < 4) return;
    ompl_team* const low = r.rank < 3 ? team_of({0, 1, 2}) : nullptr;
    ompl_team* const high = r.rank > 0 ? team_of({3, 2, 1}) : nullptr;
    for (uint32_t round = 0; round < rounds(6); ++round) {
      std::array<uint64_t, 2> alone{};
      for (uint64_t& offset : alone)
        ok(ompl_alloc_local(70'000 + 300'000 * ((r.rank + round) % 4), &offset));
      ok(ompl_free_local(alone[0]));
      const std::size_t size = 4000 + round * 90'000;
      std::array<uint64_t, 3> offsets{};
      const std::array<ompl_team*, 3> teams{low, high, all};
      for (std::size_t i = 0; i < teams.size(); ++i) {
        if (teams[i] == nullptr) continue;
        ok(ompl_team_alloc(teams[i], size, &offsets[i]));
        EXPECT_EQ(offsets[i] % 256, 0U);
        EXPECT_TRUE(std::all_of(r.own(offsets[i]), r.own(offsets[i]) + size,
                                [](std::byte byte) { return byte == std::byte{0}; }));
        ok(ompl_team_barrier(teams[i], nullptr, nullptr));  // all have looked
        exchange(r, teams[i], offsets[i], size);
      }
      EXPECT_EQ(ompl_free_local(offsets[2]), OMPL_ERR_OFFSET);
      EXPECT_EQ(r.free(offsets[2]), OMPL_ERR_OFFSET);
      for (std::size_t i = 0; i < teams.size(); ++i)
        if (teams[i] != nullptr) ok(ompl_team_free(teams[i], offsets[i]));
      ok(ompl_free_local(alone[1]));
    }
    ok(ompl_team_destroy(low));
    ok(ompl_team_destroy(high));
  });
}

TEST_P(Conformance, TeamMemory_ErrorsAreEverybodys) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const all = world_team();
    uint64_t offset = 42;
    EXPECT_EQ(ompl_team_alloc(all, 0, &offset), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_team_alloc(nullptr, 8, &offset), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_team_alloc(all, std::size_t{1} << 40, &offset), OMPL_ERR_MEMORY);
    EXPECT_EQ(offset, 42U) << "outputs are set on success only";
    if (r.size > 1) {
      EXPECT_EQ(ompl_team_alloc(all, r.rank == 0 ? 1000 : 2000, &offset), OMPL_ERR_ARG);
      EXPECT_EQ(ompl_team_alloc(all, 1000, r.rank == 1 ? nullptr : &offset), OMPL_ERR_ARG);
      // One member has taken most of its segment.
      uint64_t most = 0;
      if (r.rank == 1) ok(ompl_alloc_local(std::size_t{40} << 20, &most));
      EXPECT_EQ(ompl_team_alloc(all, std::size_t{30} << 20, &offset), OMPL_ERR_MEMORY);
      if (r.rank == 1) ok(ompl_free_local(most));
    }
    EXPECT_EQ(offset, 42U);
    ok(ompl_team_alloc(all, std::size_t{30} << 20, &offset));
    const uint64_t wrong = r.rank == 0 ? offset + 256 : offset;
    if (r.size > 1) {
      EXPECT_EQ(ompl_team_free(all, wrong), r.rank == 0 ? OMPL_ERR_OFFSET : OMPL_ERR_ARG);
    }
    ok(ompl_team_free(all, offset));
    EXPECT_EQ(ompl_team_free(all, offset), OMPL_ERR_OFFSET);
  });
}

}  // namespace
}  // namespace ompl::conformance
