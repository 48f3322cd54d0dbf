// SPDX-License-Identifier: BSD-3-Clause
// Collectives by every algorithm against what they mean, computed by each rank for itself: numbers of ranks, lengths, alignments, in
// place, through cells and straight, many at once; operations that do not commute, fail, or throw; teams; misuse.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

#include "api/process.hpp"
#include "coll_job.hpp"
#include "conformance.hpp"
#include "omnipgas/coll.h"

namespace ompl::conformance {
namespace {

constexpr int64_t kCollLimit = 60'000'000'000;  // ns; nothing takes so long

// The long sweep, or a sample of it.
bool sweeps() { return std::getenv("OMPL_TEST_SWEEP") != nullptr; }

std::vector<uint32_t> sizes_of_jobs() {
  if (sweeps()) return {1, 2, 3, 4, 5, 7, 8, 16};
  return {1, 2, 5};
}

std::vector<std::size_t> lengths(uint32_t ranks) {
  const std::size_t longest = ranks < 3 ? 1 << 20 : 1 << 17;
  if (sweeps()) return {0, 1, 7, 8, 8192, 100'001, longest};
  if (ranks == 2) return {0, 7, 8, 3000, 40'000};
  return {0, 7, 8, 3000};
}

ompl_team* world_team() {
  ompl_team* team = nullptr;
  ok(ompl_team_world(&team));
  return team;
}

// Every algorithm of a collective, and the library's choice.
std::vector<int32_t> algorithms_of(int32_t collective) {
  std::array<int32_t, 16> numbers{};
  std::size_t count = 0;
  ok(ompl_coll_algorithms(collective, numbers.data(), numbers.size(), &count));
  EXPECT_GT(count, 0U);
  std::vector<int32_t> all{OMPL_COLL_AUTO};
  all.insert(all.end(), numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(count));
  return all;
}

template <class Visit>
void for_every_collective(Visit visit) {
  for (int32_t collective = 0; ompl_coll_name(collective) != nullptr; ++collective) {
    SCOPED_TRACE(ompl_coll_name(collective));
    visit(collective);
  }
}

template <class Visit>
void for_every_algorithm(int32_t collective, Visit visit) {
  for (const int32_t algorithm : algorithms_of(collective)) {
    SCOPED_TRACE(ompl_coll_name(collective) + std::string(" by ") + ompl_algorithm_name(algorithm));
    visit(algorithm);
  }
}

TEST_P(Conformance, Coll_EveryAlgorithm) {
  for (const uint32_t ranks : sizes_of_jobs()) {
    if (ranks > GetParam().most_ranks) continue;
    SCOPED_TRACE(ranks);
    for_every_collective([&](int32_t collective) {
      world({.ranks = ranks})->run([&](Rank& r) {
        ompl_team* const team = world_team();
        for_every_algorithm(collective, [&](int32_t algorithm) {
          for (const std::size_t length : lengths(r.size)) {
            CollJob job({.collective = collective, .algorithm = algorithm, .length = length});
            job.root = r.size - 1;
            job.shift = length % 8;
            job.run(team);
            job.in_place = true;
            job.root = 0;
            job.run(team);
            ASSERT_FALSE(testing::Test::HasFailure()) << length << " bytes";
          }
        });
      });
    });
  }
}

// Long data go straight into buffers of the segment.
TEST_P(Conformance, Coll_BuffersInTheSegment) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const team = world_team();
    const std::size_t length = 40'000;
    const uint64_t memory = r.allocate(2 * CollJob::room(length, r.size));
    for_every_collective([&](int32_t collective) {
      for_every_algorithm(collective, [&](int32_t algorithm) {
        CollJob job({.collective = collective, .algorithm = algorithm, .length = length});
        job.memory = r.own(memory);
        job.shift = 3;
        job.run(team);
        ASSERT_FALSE(testing::Test::HasFailure());
      });
    });
  });
}

TEST_P(Conformance, Coll_ListsOfLengths) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const team = world_team();
    for (const int32_t collective : {OMPL_ALLGATHER, OMPL_GATHER, OMPL_SCATTER, OMPL_ALLTOALL})
      for_every_algorithm(collective, [&](int32_t algorithm) {
        for (const std::size_t length : {0U, 5U, 30'000U}) {
          CollJob job({.collective = collective, .algorithm = algorithm, .length = length});
          job.lists = true;
          job.root = 1 % r.size;
          job.run(team);
          ASSERT_FALSE(testing::Test::HasFailure()) << length;
        }
      });
  });
}

// Each thread has a tag; each has several under way, and waits for the last one first.
TEST_P(Conformance, Coll_ManyAtOnceFromFourThreads) {
  const auto job = world({.ranks = 3});
  job->run([](Rank&) { world_team(); });
  job->run(
      [](Rank& r) {
        ompl_team* const team = world_team();
        for (uint32_t round = 0; round < rounds(4); ++round) {
          std::vector<std::unique_ptr<CollJob>> jobs;
          for (int32_t collective = OMPL_BARRIER; collective <= OMPL_EXSCAN; ++collective) {
            jobs.push_back(std::make_unique<CollJob>());
            CollJob& one = *jobs.back();
            one.collective = (collective + static_cast<int32_t>(r.thread)) % (OMPL_EXSCAN + 1);
            one.length = 8 * (1 + (round * 977 + r.thread * 31) % 2000);
            one.tag = r.thread;
            ASSERT_EQ(one.start(team), OMPL_OK) << ompl_error_detail();
          }
          for (auto one = jobs.rbegin(); one != jobs.rend(); ++one) {
            ok(ompl_request_wait(OMPL_CTX_DEFAULT, &(*one)->request, kCollLimit));
            EXPECT_EQ((*one)->request, nullptr);
            (*one)->check(team);
          }
          ASSERT_FALSE(testing::Test::HasFailure());
        }
      },
      4);
}

TEST_P(Conformance, Coll_PersistentRequests) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const team = world_team();
    CollJob job({.collective = OMPL_ALLREDUCE, .length = 800});
    job.persistent = true;
    ok(job.start(team));
    EXPECT_EQ(ompl_request_test(r.ctx(), &job.request), 1);  // not started
    EXPECT_EQ(ompl_request_start(r.ctx(), nullptr), OMPL_ERR_ARG);
    for (uint32_t i = 0; i < rounds(8); ++i) {
      job.fill(team, i);
      ok(ompl_request_start(r.ctx(), job.request));
      int state = 0;
      while (state == 0) state = ompl_request_test(r.ctx(), &job.request);
      ASSERT_EQ(state, 1);
      ASSERT_NE(job.request, nullptr);
      job.check(team, i);
    }
    ompl_request* copy = job.request;
    ok(ompl_request_free(&job.request));
    EXPECT_EQ(job.request, nullptr);
    EXPECT_NE(copy, nullptr);
  });
}

// Others have not started: nothing but time goes by, and the collective goes on.
TEST_P(Conformance, Coll_TimeLimits) {
  world({.ranks = 2})->run([](Rank& r) {
    ompl_team* const team = world_team();
    if (r.size < 2) return;
    ompl_request* request = nullptr;
    if (r.rank == 0) {
      ok(ompl_team_barrier(team, nullptr, &request));
      EXPECT_EQ(ompl_request_test(r.ctx(), &request), 0);
      EXPECT_EQ(ompl_request_wait(r.ctx(), &request, 1'000'000), OMPL_ERR_TIMEOUT);
      EXPECT_EQ(ompl_team_destroy(team), OMPL_ERR_ARG);
      ok(r.barrier());
    } else {
      ok(r.barrier());
      ok(ompl_team_barrier(team, nullptr, &request));
    }
    ok(ompl_request_wait_all(r.ctx(), &request, 1, kCollLimit));
  });
}

// x -> a x + b: composition does not commute.
struct Affine {
  uint32_t a, b;
  bool operator==(const Affine&) const = default;
};
Affine after(Affine first, Affine second) { return {first.a * second.a, first.a * second.b + first.b}; }
int compose(const void* in, void* inout, size_t count, void* /*arg*/) {
  const auto* const left = static_cast<const Affine*>(in);
  auto* const right = static_cast<Affine*>(inout);
  for (std::size_t i = 0; i < count; ++i) right[i] = after(left[i], right[i]);
  return 0;
}
Affine map_of(uint32_t rank, std::size_t i) {
  return {2 * rank + 3, static_cast<uint32_t>(rank * 7 + i)};
}
Affine composed(uint32_t first, uint32_t end, std::size_t i) {
  Affine all = map_of(first, i);
  for (uint32_t rank = first + 1; rank < end; ++rank) all = after(all, map_of(rank, i));
  return all;
}

TEST_P(Conformance, Coll_OrderOfOperationsThatDoNotCommute) {
  for (const uint32_t ranks : {2U, 3U, 5U}) {
    world({.ranks = ranks})->run([](Rank& r) {
      ompl_team* const team = world_team();
      ompl_op_config config = OMPL_OP_CONFIG_INIT;
      config.function = compose;
      config.element = sizeof(Affine);
      config.commutative = 0;
      int32_t op = -1;
      ok(ompl_op_create(&config, &op));
      const std::size_t count = 2500;
      std::vector<Affine> mine(count * r.size), out(count * r.size);
      for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = map_of(r.rank, i);
      const auto expect = [&](uint32_t first, uint32_t end, std::size_t from) {
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(out[i], composed(first, end, from + i)) << i;
      };
      const uint32_t root = r.size - 1;
      ok(ompl_allreduce(team, mine.data(), out.data(), count, OMPL_ELEMENT, op, nullptr, nullptr));
      expect(0, r.size, 0);
      ok(ompl_reduce(team, mine.data(), out.data(), count, OMPL_ELEMENT, op, root, nullptr, nullptr));
      if (r.rank == root) expect(0, r.size, 0);
      ok(ompl_scan(team, mine.data(), out.data(), count, OMPL_ELEMENT, op, nullptr, nullptr));
      expect(0, r.rank + 1, 0);
      ok(ompl_exscan(team, mine.data(), out.data(), count, OMPL_ELEMENT, op, nullptr, nullptr));
      if (r.rank > 0) expect(0, r.rank, 0);
      ok(ompl_reduce_scatter(team, mine.data(), out.data(), count, OMPL_ELEMENT, op, nullptr, nullptr));
      expect(0, r.size, r.rank * count);
      ompl_coll_options ring = OMPL_COLL_OPTIONS_INIT;
      ring.algorithm = OMPL_COLL_RING;
      EXPECT_EQ(ompl_allreduce(team, mine.data(), out.data(), count, OMPL_ELEMENT, op, &ring, nullptr),
                OMPL_ERR_UNSUPPORTED);
    });
  }
}

// Elements that are larger than a cell, and one that fails at one rank is an error at all.
TEST_P(Conformance, Coll_OperationsOfTheUser) {
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const team = world_team();
    constexpr std::size_t kElement = 50'000;
    const auto add = [](const void* in, void* inout, size_t count, void* arg) {
      const auto* const fails = static_cast<const int*>(arg);
      if (*fails == 1) return 1;
      if (*fails == 2) throw std::runtime_error("an operation of the test");
      for (std::size_t i = 0; i < count * kElement; ++i)
        static_cast<unsigned char*>(inout)[i] += static_cast<const unsigned char*>(in)[i];
      return 0;
    };
    int fails = 0;
    ompl_op_config config = OMPL_OP_CONFIG_INIT;
    config.function = add;
    config.arg = &fails;
    config.element = kElement;
    int32_t op = -1;
    ok(ompl_op_create(&config, &op));
    for (const int32_t algorithm : algorithms_of(OMPL_ALLREDUCE)) {
      ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
      options.algorithm = algorithm;
      std::vector<unsigned char> mine(3 * kElement, static_cast<unsigned char>(r.rank + 1));
      std::vector<unsigned char> sum(3 * kElement);
      ok(ompl_allreduce(team, mine.data(), sum.data(), 3, OMPL_ELEMENT, op, &options, nullptr));
      const auto expected = static_cast<unsigned char>(r.size * (r.size + 1) / 2);
      EXPECT_EQ(std::ranges::count(sum, expected), std::ssize(sum));
    }
    if (r.size < 2) return;
    for (const int how : {1, 2}) {
      std::vector<unsigned char> mine(kElement), sum(kElement);
      fails = how;  // wherever it is called
      const int code =
          ompl_allreduce(team, mine.data(), sum.data(), 1, OMPL_ELEMENT, op, nullptr, nullptr);
      EXPECT_EQ(code, OMPL_ERR_ARG);
      EXPECT_NE(std::string(ompl_error_detail()).find("operation"), std::string::npos);
    }
    ok(ompl_team_barrier(team, nullptr, nullptr));
  });
}

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

// A request that nobody waits for is complete when ompl_finalize() returns, at the end of the world.
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

TEST_P(Conformance, Coll_NeverWaitedFor) {
  constexpr std::size_t kBytes = 200'000;
  std::array<std::vector<std::byte>, 3> buffers;  // of the ranks of this process
  world({.ranks = 3})->run([&](Rank& r) {
    ompl_request* request = nullptr;
    buffers[r.rank] = r.rank == 0 ? pattern(kBytes, 1) : std::vector<std::byte>(kBytes);
    ok(ompl_broadcast(world_team(), buffers[r.rank].data(), kBytes, 0, nullptr, &request));
  });
  for (const std::vector<std::byte>& buffer : buffers)
    if (!buffer.empty()) EXPECT_EQ(mismatch(buffer.data(), kBytes, 1), kBytes);
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
    for (const int32_t mode : {OMPL_PROGRESS_SPARE, OMPL_PROGRESS_SHARED, OMPL_PROGRESS_IDLE,
                               OMPL_PROGRESS_NONE, OMPL_PROGRESS_SHARED}) {
      SCOPED_TRACE(mode);
      ok(ompl_team_set_progress(team, r.rank == 0 || mode != OMPL_PROGRESS_SPARE ? mode : 0));
      for (const std::size_t length : {8U, 400'000U}) {
        CollJob job({.collective = OMPL_ALLREDUCE, .length = length});
        job.run(team);
        CollJob other({.collective = OMPL_ALLGATHER, .length = length, .tag = 1});
        ok(other.start(team));
        job.run(team);
        ok(ompl_request_wait(r.ctx(), &other.request, kCollLimit));
        other.check(team);
      }
      ok(r.barrier());
    }
  });
}

// The servants of both ranks carry a collective to its end by themselves: the operation, which counts, is called for every element.
TEST_P(Conformance, Coll_AServantNeedsNobody) {
  world({.ranks = 2})->run([](Rank& r) {
    constexpr std::size_t kCount = 50'000;
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
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (combined < kCount && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_EQ(combined, kCount);
    ok(ompl_request_wait(r.ctx(), &request, kCollLimit));
    EXPECT_EQ(std::ranges::count(sum, 3U), std::ssize(sum));
  });
}

}  // namespace
}  // namespace ompl::conformance
