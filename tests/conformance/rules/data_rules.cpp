// SPDX-License-Identifier: BSD-3-Clause
// Puts and gets: what arrives, what is left alone, when a buffer is free again.
#include <array>
#include <cstring>

#include "conformance/conformance.hpp"

namespace ompl::conformance {
namespace {

constexpr std::array<std::size_t, 16> kSizes{1,  2,   3,   7,   8,    16,    63,        64,
                                             65, 255, 256, 257, 4096, 65537, (1 << 20), (1 << 20) + 1};
constexpr std::size_t kGuard = 64;

// Every rank puts to its right neighbour, which looks at what came and at the bytes around it, then reads it
// back from there.
void put_and_get_one(Rank& r, uint64_t data, uint64_t flag, std::size_t length, std::size_t shift) {
  std::memset(r.own(data), 0x5a, length + 2 * kGuard + 8);
  ok(r.barrier());
  const uint64_t target = data + kGuard + shift;
  // The source is unaligned too, and lies outside the segment.
  std::vector<std::byte> source(length + 1);
  const auto content = pattern(length, length + r.rank);
  std::memcpy(source.data() + 1, content.data(), length);
  ok(r.put(source.data() + 1, r.right(), target, length));
  ok(r.signal(r.right(), flag));
  ok(r.wait(flag));
  EXPECT_EQ(mismatch(r.own(target), length, length + r.left()), length);
  for (std::size_t i = 0; i < kGuard; ++i) {
    ASSERT_EQ(r.own(target - kGuard)[i], std::byte{0x5a}) << "before " << length << " bytes";
    ASSERT_EQ(r.own(target + length)[i], std::byte{0x5a}) << "after " << length << " bytes";
  }
  std::vector<std::byte> back(length + 1);
  ok(r.flush());  // gets are ordered with nothing, own puts included
  ok(r.get(back.data() + 1, r.right(), target, length));
  EXPECT_EQ(mismatch(back.data() + 1, length, length + r.rank), length);
  ok(r.barrier());
}

std::vector<uint32_t> stopped_ranks() {
  std::array<uint32_t, 5> ranks{};
  std::size_t count = 0;
  ok(ompl_stopped_ranks(ranks.data(), ranks.size(), &count));
  return {ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(count)};
}

// The last rank stops, then the one before it: all learn of both, and find what these have sent before. Puts to and gets from a
// rank that has stopped go on; collectives of all ranks do not.
TEST_P(Conformance, Job_R29_StoppedRanksAreListedAndServe) {
  const auto w = world({.ranks = 5});
  const uint64_t words = w->allocate(12);
  const uint64_t data = w->allocate(64);
  w->run([&](Rank& r) {
    const uint64_t sent = words;
    const uint64_t done = words + 4;
    const uint64_t nothing = words + 8;
    const uint32_t last = r.size - 1;
    const uint32_t second = r.size > 2 ? last - 1 : last;
    ok(r.barrier());
    if (r.rank == last) {
      EXPECT_EQ(stopped_ranks(), std::vector<uint32_t>{});
      for (uint32_t to = 0; to < last; ++to) ok(r.signal(to, sent));
      ok(ompl_stop());
    }
    while (stopped_ranks().empty() || stopped_ranks().back() != last) EXPECT_EQ(r.poll(nothing), 0);
    if (r.rank != last) {
      EXPECT_EQ(r.poll(sent), 1) << "it was sent before the stop";
    }
    EXPECT_EQ(r.barrier(), OMPL_ERR_STATE);
    uint64_t offset = 0;
    EXPECT_EQ(r.alloc(64, &offset), OMPL_ERR_STATE);
    if (r.rank == second) ok(ompl_stop());
    const auto both = second == last ? std::vector{last} : std::vector{second, last};
    while (stopped_ranks() != both) EXPECT_EQ(r.poll(nothing), 0);
    const uint64_t mine = 40 + r.rank;
    uint64_t back = 0;
    ok(r.put(&mine, last, data + 8 * r.rank, sizeof mine));
    ok(r.flush());
    ok(r.get(&back, last, data + 8 * r.rank, sizeof back));
    EXPECT_EQ(back, mine);
    for (uint32_t to = 0; to < r.size; ++to) ok(r.signal(to, done));
    for (uint32_t from = 0; from < r.size; ++from) ok(r.wait(done));  // serves the others meanwhile
  });
}

TEST_P(Conformance, Job_SaysWhatItIsAndWhatWasWrong) {
  world()->run([](Rank& r) {
    EXPECT_EQ(ompl_rank(), static_cast<int>(r.rank));
    EXPECT_EQ(ompl_size(), static_cast<int>(r.size));
    EXPECT_GE(ompl_node_rank(), 0);
    EXPECT_LT(ompl_node_rank(), ompl_node_size());
    EXPECT_LE(ompl_node_size(), ompl_size());
    EXPECT_STREQ(ompl_version(), OMPL_VERSION_TEXT);
    EXPECT_EQ(ompl_failure_ack(), 0);
    uint32_t failed[2];
    std::size_t count = 7;
    ok(ompl_failed_ranks(failed, 2, &count));
    EXPECT_EQ(count, 0U);
    ok(ompl_stopped_ranks(nullptr, 0, &count));
    EXPECT_EQ(count, 0U);
    EXPECT_EQ(ompl_stopped_ranks(nullptr, 1, &count), OMPL_ERR_ARG);
    const uint64_t word = 1;
    const int code = r.put(&word, r.size, 8192, sizeof word);
    EXPECT_EQ(code, OMPL_ERR_RANK);
    EXPECT_NE(std::string(ompl_strerror(code)).find("OMPL_ERR_RANK"), std::string::npos);
    EXPECT_NE(std::string(ompl_error_detail()).find("does not exist"), std::string::npos);
  });
}

TEST_P(Conformance, Data_PutsAndGetsOfAllSizesAndAlignments) {
  world()->run([](Rank& r) {
    const uint64_t data = r.allocate(kSizes.back() + 2 * kGuard + 8);
    const uint64_t flag = r.allocate(4);
    for (const std::size_t length : kSizes) {
      for (const std::size_t shift : {0U, 1U, 3U}) {
        SCOPED_TRACE(length);
        put_and_get_one(r, data, flag, length, shift);
      }
    }
  });
}

TEST_P(Conformance, Data_R22_SelfIsAnOrdinaryTarget) {
  world()->run([](Rank& r) {
    const uint64_t data = r.allocate(5000);
    const uint64_t flag = r.allocate(4);
    for (uint64_t i = 1; i <= 20; ++i) {
      const auto source = pattern(5000, i);
      ok(r.put(source.data(), r.rank, data, source.size()));
      ok(r.signal(r.rank, flag));
      ok(r.wait(flag));
      EXPECT_EQ(mismatch(r.own(data), 5000, i), 5000U);
      std::vector<std::byte> back(5000);
      ok(r.get(back.data(), r.rank, data, back.size()));
      EXPECT_EQ(back, source);
    }
  });
}

TEST_P(Conformance, Data_R22_ZeroLengthMovesNothingButChecksTheRank) {
  world()->run([](Rank& r) {
    const uint64_t flag = r.allocate(4);
    ok(r.put(nullptr, r.right(), flag, 0));
    ok(r.get(nullptr, r.right(), flag, 0));
    EXPECT_EQ(r.put(nullptr, r.size, flag, 0), OMPL_ERR_RANK);
    EXPECT_EQ(r.get(nullptr, r.size, flag, 0), OMPL_ERR_RANK);
    EXPECT_EQ(r.put_signal(nullptr, r.size, flag, 0, flag), OMPL_ERR_RANK);
  });
}

TEST_P(Conformance, Data_R22_PutSignalOfLengthZeroSignalsInOrder) {
  world()->run([](Rank& r) {
    const uint64_t data = r.allocate(4096);
    const uint64_t flag = r.allocate(8);
    for (uint64_t i = 1; i <= rounds(50); ++i) {
      const auto source = pattern(4096, i);
      ok(r.put(source.data(), r.right(), data, source.size()));
      ok(r.put_signal(nullptr, r.right(), data, 0, flag));
      ok(r.wait(flag));
      EXPECT_EQ(mismatch(r.own(data), 4096, i), 4096U);
      ok(r.signal(r.left(), flag + 4));
      ok(r.wait(flag + 4));
    }
  });
}

TEST_P(Conformance, Data_TheSourceIsFreeWhenAPutReturns) {
  world()->run([](Rank& r) {
    constexpr std::size_t kLength = 3000;
    constexpr uint64_t kPuts = 16;
    const uint64_t data = r.allocate(kLength * kPuts);
    std::vector<std::byte> source(kLength);
    for (uint64_t i = 0; i < kPuts; ++i) {
      source = pattern(kLength, 100 * r.rank + i);
      ok(r.put(source.data(), r.right(), data + i * kLength, kLength));
      std::memset(source.data(), 0xff, kLength);
    }
    ok(r.barrier());
    for (uint64_t i = 0; i < kPuts; ++i)
      EXPECT_EQ(mismatch(r.own(data + i * kLength), kLength, 100 * r.left() + i), kLength) << i;
    ok(r.barrier());
  });
}

TEST_P(Conformance, Data_AGetSeesWhatWasSignalled) {
  world()->run([](Rank& r) {
    constexpr std::size_t kLength = 700;
    const uint64_t data = r.allocate(kLength);
    const uint64_t flag = r.allocate(8);
    for (uint64_t i = 1; i <= rounds(50); ++i) {
      const auto mine = pattern(kLength, 7 * i + r.rank);
      std::memcpy(r.own(data), mine.data(), kLength);
      ok(r.signal(r.left(), flag));  // my right neighbour's data are ready: it signals me likewise
      ok(r.wait(flag));
      std::vector<std::byte> got(kLength);
      ok(r.get(got.data(), r.right(), data, kLength));
      EXPECT_EQ(mismatch(got.data(), kLength, 7 * i + r.right()), kLength);
      ok(r.signal(r.right(), flag + 4));  // read
      ok(r.wait(flag + 4));
    }
  });
}

TEST_P(Conformance, Data_PutSignalOfAllSizes) {
  world({.ranks = 3})->run([](Rank& r) {
    const uint64_t data = r.allocate(kSizes.back());
    const uint64_t flag = r.allocate(8);
    for (const std::size_t length : kSizes) {
      const auto source = pattern(length, length * 3 + r.rank);
      ok(r.put_signal(source.data(), r.right(), data, length, flag));
      ok(r.wait(flag));
      EXPECT_EQ(mismatch(r.own(data), length, length * 3 + r.left()), length);
      ok(r.signal(r.left(), flag + 4));
      ok(r.wait(flag + 4));
    }
  });
}

}  // namespace
}  // namespace ompl::conformance
