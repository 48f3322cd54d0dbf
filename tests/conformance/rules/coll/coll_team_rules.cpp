// SPDX-License-Identifier: BSD-3-Clause
// Around collectives: teams, misuse, members that call different ones, modes of progress, and what is left at the end.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "api/process.hpp"
#include "arch/cores.hpp"
#include "arch/machine.hpp"
#include "conformance/coll_job.hpp"
#include "conformance/conformance.hpp"
#include "core/progress/thread_start.hpp"
#include "omnipgas/coll.h"

namespace ompl::conformance {
namespace {

TEST_P(Conformance, Coll_Teams) {
  world({.ranks = 5})->run([](Rank& r) {
    ompl_team* const all = world_team();
    EXPECT_EQ(ompl_team_rank(all), static_cast<int>(r.rank));
    EXPECT_EQ(ompl_team_size(all), static_cast<int>(r.size));
    for (uint32_t round = 0; round < rounds(5); ++round) {
      // Odd and even ranks apart, in reverse order; rank 0 in none.
      ompl_team* part = nullptr;
      const int32_t color = r.rank == 0 ? -1 : static_cast<int32_t>(r.rank % 2);
      ok(ompl_team_split(all, color, -static_cast<int32_t>(r.rank), nullptr, &part));
      ASSERT_EQ(part == nullptr, r.rank == 0);
      if (part != nullptr) {
        uint32_t above = 0;
        for (uint32_t other = r.rank + 2; other < r.size; other += 2) ++above;
        EXPECT_EQ(ompl_team_rank(part), static_cast<int>(above));
        EXPECT_EQ(ompl_team_world_rank(part, above), static_cast<int>(r.rank));
        for (const int32_t collective : {OMPL_ALLREDUCE, OMPL_ALLTOALL, OMPL_BROADCAST}) {
          CollJob job({.collective = collective, .length = 4000});
          job.run(part);
        }
      }
      ok(ompl_team_destroy(part));
    }
    // Those listed alone take part.
    if (r.rank < 2 && r.size > 1) {
      const std::array<uint32_t, 2> pair{1, 0};
      ompl_team* team = nullptr;
      ok(ompl_team_create(pair.data(), pair.size(), nullptr, &team));
      CollJob job({.collective = OMPL_ALLGATHER, .length = 100});
      job.run(team);
      ok(ompl_team_destroy(team));
    }
  });
}

// Later teams have smaller cells, so that many find room; ranks that have made more teams have less of it than others.
TEST_P(Conformance, Coll_ManyTeamsAtOnce) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const all = world_team();
    if (r.size < 3) return;
    for (int round = 0; round < 2; ++round) {  // what is given back is there again
      std::vector<ompl_team*> teams;
      ompl_team_config config = OMPL_TEAM_CONFIG_INIT;
      config.tags = 1;
      const auto make = [&](const std::vector<uint32_t>& ranks) {
        if (std::ranges::find(ranks, r.rank) == ranks.end()) return;
        ok(ompl_team_create(ranks.data(), ranks.size(), &config, &teams.emplace_back()));
      };
      for (int i = 0; i < 20; ++i) make({0, 2});
      for (int i = 0; i < 5; ++i) make({0, 1, 2});
      // By places from the end, where all have the same team.
      for (std::size_t behind = 25; behind > 0; behind -= 5) {
        if (behind > teams.size()) continue;
        for (const std::size_t length : {std::size_t{8}, std::size_t{50'000}}) {
          CollJob job({.collective = OMPL_ALLREDUCE, .length = length});
          job.run(teams[teams.size() - behind]);
        }
      }
      if (!teams.empty()) {
        CollJob job({.collective = OMPL_ALLTOALL, .length = 4000});
        job.run(teams.back());
      }
      for (ompl_team* const team : teams) ok(ompl_team_destroy(team));
      ok(ompl_team_barrier(all, nullptr, nullptr));
    }
  });
}

// All are told, and the next team is made all the same.
TEST_P(Conformance, Coll_TeamsOfDifferentLists) {
  world({.ranks = 2})->run([](Rank& r) {
    world_team();
    if (r.size < 2) return;
    const std::array<uint32_t, 2> right{0, 1};
    const std::array<uint32_t, 2> wrong{1, 0};
    for (uint32_t round = 0; round < rounds(20); ++round) {
      ompl_team* team = nullptr;
      const auto& list = r.rank == 0 ? right : wrong;
      EXPECT_EQ(ompl_team_create(list.data(), list.size(), nullptr, &team), OMPL_ERR_ARG);
      EXPECT_NE(std::string(ompl_error_detail()).find("different lists"), std::string::npos);
      EXPECT_EQ(team, nullptr);
      ok(ompl_team_create(right.data(), right.size(), nullptr, &team));
      CollJob job({.collective = OMPL_ALLGATHER, .length = 100});
      job.run(team);
      ok(ompl_team_destroy(team));
    }
  });
}

TEST_P(Conformance, Coll_WrongArguments) {
  world({.ranks = 2})->run([](Rank& r) {
    ompl_team* team = nullptr;
    const uint32_t self = r.rank;
    EXPECT_EQ(ompl_team_create(&self, 1, nullptr, &team), OMPL_ERR_STATE);
    int32_t op = 0;
    ompl_op_config config = OMPL_OP_CONFIG_INIT;
    EXPECT_EQ(ompl_op_create(&config, &op), OMPL_ERR_STATE);
    EXPECT_EQ(ompl_team_world(nullptr), OMPL_ERR_ARG);
    team = world_team();
    EXPECT_EQ(ompl_op_create(&config, &op), OMPL_ERR_ARG);
    const std::array<uint32_t, 2> twice{r.rank, r.rank};
    const uint32_t far = 99;
    ompl_team* none = nullptr;
    EXPECT_EQ(ompl_team_create(twice.data(), 2, nullptr, &none), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_team_create(&far, 1, nullptr, &none), OMPL_ERR_RANK);
    EXPECT_EQ(ompl_team_create(nullptr, 0, nullptr, &none), OMPL_ERR_ARG);
    ompl_team_config tags = OMPL_TEAM_CONFIG_INIT;
    tags.tags = OMPL_MOST_TAGS + 1;
    EXPECT_EQ(ompl_team_create(&self, 1, &tags, &none), OMPL_ERR_ARG);
    EXPECT_EQ(none, nullptr);
    uint64_t in = 1;
    uint64_t out = 0;
    EXPECT_EQ(ompl_team_barrier(nullptr, nullptr, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_broadcast(team, &in, 8, 99, nullptr, nullptr), OMPL_ERR_RANK);
    EXPECT_EQ(ompl_broadcast(team, nullptr, 8, 0, nullptr, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_broadcast(team, &in, SIZE_MAX, 0, nullptr, nullptr), OMPL_ERR_LENGTH);
    EXPECT_EQ(ompl_allreduce(team, &in, &out, SIZE_MAX / 2, OMPL_INT64, OMPL_SUM, nullptr, nullptr),
              OMPL_ERR_LENGTH);
    EXPECT_EQ(ompl_allreduce(team, &in, &out, 1, OMPL_DOUBLE, OMPL_BAND, nullptr, nullptr),
              OMPL_ERR_ARG);
    EXPECT_EQ(ompl_allreduce(team, &in, &out, 1, 99, OMPL_SUM, nullptr, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_allreduce(team, &in, &out, 1, OMPL_DOUBLE, -1, nullptr, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_allreduce(team, &in, &out, 1, OMPL_DOUBLE, -2, nullptr, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_allreduce(team, &in, &out, 1, OMPL_ELEMENT, 64, nullptr, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_allgatherv(team, &in, &out, nullptr, nullptr, nullptr, nullptr), OMPL_ERR_ARG);
    ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
    options.tag = 4;
    EXPECT_EQ(ompl_team_barrier(team, &options, nullptr), OMPL_ERR_ARG);
    options = OMPL_COLL_OPTIONS_INIT;
    options.algorithm = OMPL_COLL_BRUCK;
    EXPECT_EQ(ompl_team_barrier(team, &options, nullptr), OMPL_ERR_UNSUPPORTED);
    options.size = 1;
    EXPECT_EQ(ompl_team_barrier(team, &options, nullptr), OMPL_ERR_ARG);
    options = OMPL_COLL_OPTIONS_INIT;
    options.persistent = 1;
    EXPECT_EQ(ompl_team_barrier(team, &options, nullptr), OMPL_ERR_ARG);
    EXPECT_EQ(ompl_coll_name(OMPL_EXSCAN + 1), nullptr);
    EXPECT_EQ(ompl_algorithm_name(-1), nullptr);
    // Nothing of this has done harm.
    CollJob job({.collective = OMPL_ALLREDUCE, .length = 8});
    job.run(team);
  });
}

TEST_P(Conformance, Coll_CheckedCallsAreTheSame) {
  if (GetParam().most_ranks < 2) GTEST_SKIP() << "wants members that call";
  world({.ranks = 3, .checks = true})->run([](Rank&) {
    ompl_team* const team = world_team();
    for_every_collective([&](int32_t collective) {
      CollJob job({.collective = collective, .length = 3000});
      job.run(team);
      job.in_place = true;
      job.run(team);
    });
  });
}

TEST_P(Conformance, Coll_CheckedCallsThatDifferAreNamed) {
  if (GetParam().most_ranks < 2) GTEST_SKIP() << "wants members that call";
  world({.ranks = 3, .checks = true})->run([](Rank& r) {
    ompl_team* const team = world_team();
    std::array<double, 100> values{};
    const bool last = r.rank + 1 == r.size;
    const auto told = [&](int code, const char* mine, const char* others) {
      EXPECT_EQ(code, OMPL_ERR_ARG);
      const std::string detail = ompl_error_detail();
      const std::string me = std::to_string(r.size - 1);
      EXPECT_NE(detail.find(mine + (" at member " + me)), std::string::npos) << detail;
      EXPECT_NE(detail.find(others + std::string(" at member")), std::string::npos) << detail;
    };
    const auto sum = [&](std::size_t count, int32_t op) {
      return ompl_allreduce(team, OMPL_IN_PLACE, values.data(), count, OMPL_DOUBLE, op, nullptr,
                            nullptr);
    };
    for (uint32_t round = 0; round < rounds(20); ++round) {
      told(last ? ompl_team_barrier(team, nullptr, nullptr) : sum(2, OMPL_SUM), "barrier",
           "allreduce of 16 bytes by operation 0 of type 9");
      told(sum(last ? 100 : 1, OMPL_SUM), "allreduce of 800 bytes by operation 0 of type 9",
           "allreduce of 8 bytes by operation 0 of type 9");
      told(sum(1, last ? OMPL_MAX : OMPL_SUM), "allreduce of 8 bytes by operation 3 of type 9",
           "allreduce of 8 bytes by operation 0 of type 9");
      told(ompl_broadcast(team, values.data(), 8, last ? 1 : 0, nullptr, nullptr),
           "broadcast of 8 bytes with root 1", "broadcast of 8 bytes with root 0");
      // The team goes on.
      values.fill(1);
      ok(sum(100, OMPL_SUM));
      EXPECT_EQ(values[99], r.size);
    }
  });
}

// A request that nobody waits for is complete when ompl_finalize() returns, at the end of the world.
TEST_P(Conformance, Coll_NeverWaitedFor) {
  constexpr std::size_t kBytes = 200'000;
  std::array<std::vector<std::byte>, 3> buffers;  // of the ranks of this process
  world({.ranks = 3})->run([&](Rank& r) {
    ompl_request* request = nullptr;
    buffers[r.rank] = r.rank == 0 ? pattern(kBytes, 1) : std::vector<std::byte>(kBytes);
    ok(ompl_broadcast(world_team(), buffers[r.rank].data(), kBytes, 0, nullptr, &request));
  });
  for (const std::vector<std::byte>& buffer : buffers) {
    if (!buffer.empty()) {
      EXPECT_EQ(mismatch(buffer.data(), kBytes, 1), kBytes);
    }
  }
}

// What not all members have started cannot be completed: an error that says so, and the end all the same.
TEST_P(Conformance, Coll_OutstandingAtTheEnd) {
  world({.ranks = 2, .ends_well = false})->run([](Rank& r) {
    ompl_team* const team = world_team();
    ompl_request* request = nullptr;
    const bool starts = r.rank == 0 && r.size > 1;
    if (starts) ok(ompl_team_barrier(team, nullptr, &request));
    Context& context = *api::t_context;
    EXPECT_EQ(context.runtime->finalize(context), starts ? OMPL_ERR_STATE : OMPL_OK);
    if (!starts) return;
    EXPECT_NE(std::string(ompl_error_detail()).find("1 collective"), std::string::npos);
  });
}

// With each mode on, and others on at other ranks; a long collective goes on while nobody calls the library.
TEST_P(Conformance, Coll_ProgressModes) {
  world({.ranks = 2})->run([](Rank& r) {
    ompl_team* const team = world_team();
    EXPECT_EQ(ompl_team_progress(team), OMPL_PROGRESS_NONE);
    EXPECT_EQ(ompl_team_set_progress(team, 99), OMPL_ERR_ARG);
    for (const int32_t mode : {OMPL_PROGRESS_SPARE, OMPL_PROGRESS_SHARED, OMPL_PROGRESS_NODE,
                               OMPL_PROGRESS_IDLE, OMPL_PROGRESS_NONE, OMPL_PROGRESS_SHARED}) {
      SCOPED_TRACE(mode);
      ok(ompl_team_set_progress(team, r.rank == 0 || mode != OMPL_PROGRESS_SPARE ? mode : 0));
      for (const std::size_t length : {8U, 400'000U}) {
        CollJob job({.collective = OMPL_ALLREDUCE, .length = length});
        job.run(team);
        CollJob other({.collective = OMPL_ALLGATHER, .length = length, .tag = 1});
        ok(other.start(team));
        job.run(team);
        ok(ompl_request_wait(r.ctx(), &other.request, kCollLimit));
        other.check();
      }
      ok(r.barrier());
    }
  });
}

// The progress threads of both ranks carry a collective to its end by themselves: the operation, which counts, is called for every element.
TEST_P(Conformance, Coll_AProgressThreadNeedsNobody) {
  world({.ranks = 2})->run([](Rank& r) {
    constexpr std::size_t kCount = 300'000;  // more bytes than those for which a thread shares a core
    ompl_team* const team = world_team();
    if (r.size < 2) return;
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_SHARED));
    std::atomic<std::size_t> combined{0};
    ompl_op_config config = OMPL_OP_CONFIG_INIT;
    config.element = sizeof(uint64_t);
    config.arg = &combined;
    config.function = [](const void* in, void* inout, size_t count, void* arg) {
      for (std::size_t i = 0; i < count; ++i)
        static_cast<uint64_t*>(inout)[i] += static_cast<const uint64_t*>(in)[i];
      *static_cast<std::atomic<std::size_t>*>(arg) += count;
      return 0;
    };
    int32_t op = -1;
    ok(ompl_op_create(&config, &op));
    ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
    options.algorithm = OMPL_COLL_RECURSIVE_DOUBLING;
    const std::vector<uint64_t> mine(kCount, r.rank + 1);
    std::vector<uint64_t> sum(kCount);
    ompl_request* request = nullptr;
    ok(ompl_allreduce(team, mine.data(), sum.data(), kCount, OMPL_ELEMENT, op, &options, &request));
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(240);
    while (combined < kCount && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_EQ(combined, kCount);
    ok(ompl_request_wait(r.ctx(), &request, kCollLimit));
    EXPECT_EQ(std::ranges::count(sum, 3U), std::ssize(sum));
  });
}

// Where each thread of this process with the progress thread's name may run.
std::vector<arch::Core> processors_of_progress_threads() {
  std::vector<arch::Core> all;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    if (!std::getline(std::ifstream(task.path() / "comm"), name) || name != "ompl-progress") continue;
    cpu_set_t set;
    if (::sched_getaffinity(std::stoi(task.path().filename()), sizeof set, &set) != 0) continue;
    arch::Core& mine = all.emplace_back();
    for (unsigned i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) mine.push_back(i);
  }
  return all;
}

// Not where the thread may run that sets the mode.
TEST_P(Conformance, Coll_TheProgressThreadsCore) {
  world({.ranks = 1})->run([](Rank&) {
    if (ompl_progress_thread() == 1) GTEST_SKIP() << "the thread has a core of its own already";
    std::array<uint64_t, 16> allowed{};
    arch::affinity(allowed);
    const arch::Core all = arch::processors_of(allowed);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(all.front(), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    ompl_team* const team = world_team();
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_SHARED));
    EXPECT_EQ(processors_of_progress_threads(), std::vector<arch::Core>{all});
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_SPARE));
    const arch::Core spare = spare_core(arch::cores_of(allowed), {}).processors;
    EXPECT_EQ(processors_of_progress_threads(), std::vector<arch::Core>{spare});
    ok(ompl_team_set_progress(team, OMPL_PROGRESS_SHARED));
    EXPECT_EQ(processors_of_progress_threads(), std::vector<arch::Core>{all});
  });
}

}  // namespace
}  // namespace ompl::conformance
