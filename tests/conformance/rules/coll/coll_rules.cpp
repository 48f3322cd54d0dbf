// SPDX-License-Identifier: BSD-3-Clause
// Collectives by every algorithm against what they mean, computed by each rank for itself: numbers of ranks, lengths, alignments, in
// place, through cells and straight, many at once; operations that do not commute, fail, or throw.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "conformance/coll_job.hpp"
#include "conformance/conformance.hpp"
#include "omnipgas/coll.h"

namespace ompl::conformance {
namespace {

// Numbers of ranks to be swept, 1,2,16; without them a sample is tried.
const char* sweep() { return std::getenv("OMPL_TEST_SWEEP"); }

std::vector<uint32_t> sizes_of_jobs() {
  if (sweep() == nullptr) return {1, 2, 5};
  std::vector<uint32_t> sizes;
  std::istringstream text(sweep());
  for (std::string size; std::getline(text, size, ',');)
    sizes.push_back(static_cast<uint32_t>(std::stoul(size)));
  return sizes;
}

std::vector<std::size_t> lengths(uint32_t ranks) {
  if (sweep() != nullptr) return {0, 1, 7, 8, 8192, 100'001, 1 << 20};
  if (ranks == 2) return {0, 7, 8, 3000, 40'000};
  return {0, 7, 8, 3000};
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

// Blocks stand side by side at some members and apart at others: lengths must be alike, places need not.
TEST_P(Conformance, Coll_EachMemberMayPlaceListedBlocksAsItLikes) {
  world({.ranks = 4})->run([](Rank& r) {
    ompl_team* const team = world_team();
    std::vector<std::size_t> lengths(r.size);
    std::vector<std::size_t> places(r.size);
    for (std::size_t i = 0; i < r.size; ++i) {
      lengths[i] = 100 + i;
      places[i] = i == 0 ? 0 : places[i - 1] + lengths[i - 1] + (r.rank % 2 == 0 ? 0 : 50 * i);
    }
    for_every_algorithm(OMPL_ALLGATHER, [&](int32_t algorithm) {
      const std::vector<std::byte> mine = pattern(lengths[r.rank], r.rank);
      std::vector<std::byte> all(places.back() + lengths.back());
      ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
      options.algorithm = algorithm;
      options.timeout_ns = kCollLimit / 4;
      const int code = ompl_allgatherv(team, mine.data(), all.data(), lengths.data(), places.data(),
                                       &options, nullptr);
      if (code == OMPL_ERR_UNSUPPORTED) return;  // it takes no lists
      ok(code);
      for (std::size_t member = 0; member < r.size; ++member)
        ASSERT_EQ(mismatch(&all[places[member]], lengths[member], member), lengths[member]) << member;
    });
  });
}

// One member has a value that is no number: all members get none, wherever it stands among the operands.
TEST_P(Conformance, Coll_WhatIsNoNumberStaysSoAtAllMembers) {
  world({.ranks = 4})->run([](Rank& r) {
    ompl_team* const team = world_team();
    for_every_algorithm(OMPL_ALLREDUCE, [&](int32_t algorithm) {
      ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
      options.algorithm = algorithm;
      for (const int32_t op : {OMPL_MIN, OMPL_MAX}) {
        for (uint32_t which = 0; which < r.size; ++which) {
          std::vector<double> values(8, r.rank);
          if (r.rank == which) values[3] = std::numeric_limits<double>::quiet_NaN();
          ok(ompl_allreduce(team, OMPL_IN_PLACE, values.data(), values.size(), OMPL_DOUBLE, op,
                            &options, nullptr));
          EXPECT_TRUE(std::isnan(values[3])) << which;
          EXPECT_EQ(values[4], op == OMPL_MIN ? 0 : r.size - 1);
        }
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
            (*one)->check();
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
      job.check(i);
    }
    ok(ompl_request_free(&job.request));
    EXPECT_EQ(job.request, nullptr);
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
      for_every_algorithm(OMPL_SCAN, [&](int32_t algorithm) {  // they all keep it
        ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
        options.algorithm = algorithm;
        ok(ompl_scan(team, mine.data(), out.data(), count, OMPL_ELEMENT, op, &options, nullptr));
        expect(0, r.rank + 1, 0);
        ok(ompl_exscan(team, mine.data(), out.data(), count, OMPL_ELEMENT, op, &options, nullptr));
        if (r.rank > 0) expect(0, r.rank, 0);
      });
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

// It would go straight, in several pieces: all of it is worth nothing.
TEST_P(Conformance, Coll_ALongResultOfAnOperationThatFails) {
  constexpr std::size_t kBytes = 1 << 20;
  world({.ranks = 3})->run([](Rank& r) {
    ompl_team* const team = world_team();
    if (r.size < 3) return;
    ompl_op_config config = OMPL_OP_CONFIG_INIT;
    config.function = [](const void*, void*, size_t, void*) { return 1; };
    config.element = sizeof(uint64_t);
    int32_t op = -1;
    ok(ompl_op_create(&config, &op));
    ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
    options.algorithm = OMPL_COLL_RECURSIVE_DOUBLING;
    const uint64_t memory = r.allocate(2 * kBytes);
    EXPECT_EQ(ompl_allreduce(team, r.own(memory), r.own(memory) + kBytes, kBytes / sizeof(uint64_t),
                             OMPL_ELEMENT, op, &options, nullptr),
              OMPL_ERR_ARG);
    ok(ompl_team_barrier(team, nullptr, nullptr));
  });
}

}  // namespace
}  // namespace ompl::conformance
