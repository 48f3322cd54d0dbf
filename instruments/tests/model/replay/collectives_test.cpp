// SPDX-License-Identifier: BSD-3-Clause
// Collectives become messages that all find their partner, as many as the algorithm has.
#include <gtest/gtest.h>

#include <bit>

#include "collective_program.hpp"
#include "model/replay/parameters.hpp"
#include "model/replay/replay.hpp"

namespace {

using namespace ompl::model;  // NOLINT(google-build-using-namespace)

Result run(Collective kind, uint32_t size, uint32_t root) {
  Program program(size);
  add_collective(program, kind, size, root, 100);
  return replay(program, find_parameters("myrinet", Model::loggps), {});
}

uint64_t messages(Collective kind, uint64_t n) {
  const uint64_t half = std::bit_floor(n);
  const auto log = static_cast<uint64_t>(std::bit_width(n - 1));
  switch (kind) {
    case Collective::barrier:
      return n * log;
    case Collective::allgather:
    case Collective::alltoall:
    case Collective::reduce_scatter:
      return n * (n - 1);
    case Collective::allreduce:
      return half * static_cast<uint64_t>(std::countr_zero(half)) + 2 * (n - half);
    default:
      return n - 1;  // trees, stars and chains
  }
}

TEST(Collectives, EveryMessageHasItsPartnerAndThereAreAsManyAsThereShouldBe) {
  for (uint8_t kind = 0; kind <= static_cast<uint8_t>(Collective::scan); ++kind) {
    for (uint32_t size = 1; size <= 17; ++size) {
      for (const uint32_t root : {0U, size - 1, size / 2}) {
        const Result found = run(static_cast<Collective>(kind), size, root);
        EXPECT_EQ(found.blocked_count, 0U) << int{kind} << ' ' << size << ' ' << root;
        EXPECT_EQ(found.unmatched_count, 0U) << int{kind} << ' ' << size << ' ' << root;
        EXPECT_EQ(found.messages, messages(static_cast<Collective>(kind), size))
            << int{kind} << ' ' << size;
      }
    }
  }
}

TEST(Collectives, FormsWithCountsSendTheirCounts) {
  const std::vector<uint64_t> sent{1, 2, 3};
  const std::vector<uint64_t> received{10, 20, 30};
  const auto all = expand({Collective::alltoall, 1, 3, 0, 6, sent, received});
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].to, 2U);
  EXPECT_EQ(all[0].bytes, 3U);
  EXPECT_EQ(all[1].to, 0U);
  EXPECT_EQ(all[1].bytes, 1U);
  const auto gathered = expand({Collective::allgather, 1, 3, 0, 20, {}, received});
  ASSERT_EQ(gathered.size(), 2U);
  EXPECT_EQ(gathered[0].bytes, 20U);  // its own
  EXPECT_EQ(gathered[1].bytes, 10U);  // what its left neighbour had
  const auto scattered = expand({Collective::scatter, 0, 3, 0, 6, sent, {}});
  ASSERT_EQ(scattered.size(), 2U);
  EXPECT_EQ(scattered[1].bytes, 3U);
}

}  // namespace
