// SPDX-License-Identifier: BSD-3-Clause
// Whether the check of collectives (instruments/bench/overlap) would see a result that is wrong.
#include <gtest/gtest.h>
#include "overlap/collective.hpp"

namespace bench::overlap {
namespace {

constexpr uint32_t kRanks = 3;

using Bytes = std::vector<std::byte>;

// The sum of what all ranks give, one element behind the other.
template <class T>
Bytes summed(const std::vector<Bytes>& given) {
  Bytes sums(given.front().size());
  for (std::size_t i = 0; i < sums.size(); i += sizeof(T)) {
    T sum{};
    for (const Bytes& of_rank : given) {
      T value{};
      std::memcpy(&value, &of_rank[i], sizeof value);
      sum = static_cast<T>(sum + value);
    }
    std::memcpy(&sums[i], &sum, sizeof sum);
  }
  return sums;
}

void append(Bytes& to, const Bytes& from, std::size_t first, std::size_t bytes) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
  to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(bytes));
}

class Result : public testing::TestWithParam<std::tuple<Collective, std::size_t>> {
 protected:
  [[nodiscard]] static Shape shape(uint32_t rank) {
    return {std::get<0>(GetParam()), std::get<1>(GetParam()), rank, kRanks};
  }

  // What a right library leaves at the last rank.
  [[nodiscard]] static Bytes right(uint64_t exchange) {
    std::vector<Bytes> given;
    Bytes root;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      Bytes incoming(shape(rank).incoming());
      given.emplace_back(shape(rank).outgoing());
      write(shape(rank), given.back().data(), incoming.data(), exchange);
      if (rank == kRoot) root = incoming;
    }
    const Shape last = shape(kRanks - 1);
    const std::size_t mine = last.rank * last.bytes;
    Bytes result;
    switch (last.collective) {
      case Collective::broadcast:
        return root;
      case Collective::allgather:
        for (const Bytes& block : given) append(result, block, 0, last.bytes);
        return result;
      case Collective::alltoall:
        for (const Bytes& blocks : given) append(result, blocks, mine, last.bytes);
        return result;
      case Collective::allreduce:
      case Collective::reduce_scatter:
        break;
    }
    const Bytes sums =
        reduces_doubles(last.bytes) ? summed<double>(given) : summed<unsigned char>(given);
    if (last.collective == Collective::allreduce) return sums;
    append(result, sums, mine, last.bytes);
    return result;
  }
};

TEST_P(Result, IsRightAsTheCollectiveIsDefined) {
  const Bytes result = right(258);
  EXPECT_EQ(wrong(shape(kRanks - 1), result.data(), 258), std::nullopt);
}

TEST_P(Result, EveryWrongByteIsSeen) {
  Bytes result = right(258);
  for (std::byte& byte : result) {
    byte ^= std::byte{0x10};
    EXPECT_TRUE(wrong(shape(kRanks - 1), result.data(), 258)) << &byte - result.data();
    byte ^= std::byte{0x10};
  }
}

TEST_P(Result, OfAnotherExchangeIsSeen) {
  const Bytes result = right(258);
  EXPECT_TRUE(wrong(shape(kRanks - 1), result.data(), 259));
}

TEST_P(Result, ThatNeverCameIsSeen) {
  const Shape last = shape(kRanks - 1);
  Bytes outgoing(last.outgoing());
  Bytes incoming(last.incoming());
  write(last, outgoing.data(), incoming.data(), 258);
  EXPECT_TRUE(wrong(last, incoming.data(), 258));
}

INSTANTIATE_TEST_SUITE_P(Collectives, Result,
                         testing::Combine(testing::Values(Collective::allgather, Collective::allreduce,
                                                          Collective::broadcast, Collective::alltoall,
                                                          Collective::reduce_scatter),
                                          testing::Values(1, 7, 8, 64, 1001)));

TEST(CollectiveOf, KnowsTheNamesOfAll) {
  EXPECT_EQ(collective_of("allgather"), Collective::allgather);
  EXPECT_EQ(collective_of("reduce-scatter"), Collective::reduce_scatter);
  EXPECT_EQ(collective_of("gossip"), std::nullopt);
}

}  // namespace
}  // namespace bench::overlap
