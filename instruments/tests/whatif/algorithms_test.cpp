// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm of every collective: all messages find their partner, nobody stands still, and as many bytes go as the
// algorithm has.
#include <gtest/gtest.h>

#include <bit>
#include <numeric>

#include "model/replay/parameters.hpp"
#include "model/replay/replay.hpp"
#include "tests/model/replay/collective_program.hpp"

namespace {

using namespace ompl::model;  // NOLINT(google-build-using-namespace)

constexpr uint64_t kBytes = 1000;

struct Case {
  Collective kind;
  std::string_view algorithm;
};

// Sends that need their receiver are the harder case: S = 0. Returns the bytes of all messages.
uint64_t run(const Case& one, uint32_t size, uint32_t root, Result& result) {
  Algorithms algorithms;
  algorithms.choose(name_of(one.kind), one.algorithm);
  Program program(size);
  const uint64_t bytes = add_collective(program, one.kind, size, root, kBytes, algorithms);
  Parameters parameters = find_parameters("myrinet", Model::loggps);
  parameters.longest_eager = 0;
  result = replay(program, parameters, {});
  return bytes;
}

TEST(Algorithms, EveryMessageFindsItsPartner) {
  uint32_t algorithms = 0;
  for (std::size_t i = 0; i < kCollectives; ++i) {
    const auto kind = static_cast<Collective>(i);
    for (const std::string_view name : algorithms_of(kind)) {
      ++algorithms;
      for (uint32_t size = 1; size <= 9; ++size) {
        for (uint32_t root = 0; root < size; ++root) {
          Result result;
          run({kind, name}, size, root, result);
          const auto where = [&] {
            return testing::Message()
                   << name_of(kind) << ' ' << name << ", size " << size << ", root " << root;
          };
          EXPECT_EQ(result.blocked_count, 0) << where();
          EXPECT_EQ(result.unmatched_count, 0) << where();
          EXPECT_EQ(result.messages > 0, size > 1) << where();
        }
      }
    }
  }
  EXPECT_GT(algorithms, kCollectives);
}

TEST(Algorithms, MoveTheBytesThatTheyAreKnownFor) {
  for (const uint32_t p : {2U, 3U, 4U, 7U, 8U}) {
    Result result;
    const auto bytes = [&](Collective kind, std::string_view name) {
      return run({kind, name}, p, p - 1, result);
    };
    EXPECT_EQ(bytes(Collective::allreduce, "ring"), 2 * (p - 1) * kBytes);
    EXPECT_EQ(bytes(Collective::allreduce, "tree"), 2 * (p - 1) * kBytes);
    EXPECT_EQ(result.messages, 2 * (p - 1));
    for (const std::string_view name : {"binomial", "linear", "chain"}) {
      EXPECT_EQ(bytes(Collective::bcast, name), (p - 1) * kBytes) << name;
      EXPECT_EQ(result.messages, p - 1) << name;
    }
    // All parts but the root's own, then all parts round.
    const uint64_t own = kBytes - kBytes * (p - 1) / p;
    EXPECT_EQ(bytes(Collective::bcast, "scatter-allgather"), kBytes - own + (p - 1) * kBytes);
    EXPECT_EQ(bytes(Collective::reduce, "linear"), (p - 1) * kBytes);
    EXPECT_EQ(bytes(Collective::barrier, "tree"), 2 * (p - 1) * kBytes);
    EXPECT_EQ(bytes(Collective::allgather, "pairwise"), p * (p - 1) * kBytes);
    uint64_t ones = 0;  // bits of all block numbers: how often a block is sent
    for (uint32_t block = 1; block < p; ++block) ones += static_cast<uint64_t>(std::popcount(block));
    EXPECT_EQ(bytes(Collective::alltoall, "bruck"), p * ones * kBytes);
    EXPECT_EQ(result.messages, p * static_cast<uint64_t>(std::bit_width(p - 1)));
  }
}

TEST(Algorithms, BlocksOfDifferentLengthsGoPairwise) {
  Algorithms bruck;
  bruck.choose("alltoall", "bruck");
  const std::vector<uint64_t> counts{3, 5, 7};
  const auto steps = expand({Collective::alltoall, 0, 3, 0, 15, counts, counts}, bruck);
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0].bytes, 5);
  EXPECT_EQ(steps[1].bytes, 7);
}

}  // namespace
