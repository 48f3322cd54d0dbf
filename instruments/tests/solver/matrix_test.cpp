// SPDX-License-Identifier: BSD-3-Clause
// Matrices: made of entries and stencils; SELL gives what CSR gives, to the bit, with every kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "same.hpp"
#include "solver/matrix/generate.hpp"
#include "solver/matrix/sell.hpp"
#include "tests/refusal.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

std::string where(uint64_t line) { return "line " + std::to_string(line) + ": "; }

Csr make(uint32_t rows, uint32_t columns, const std::vector<Entry>& entries,
         Mirror mirror = Mirror::none) {
  return assemble({0, rows}, columns, entries, mirror, where);
}

bool solvable(const Csr& a) {
  check_solvable(a);
  return true;
}

TEST(Assemble, EntriesInAnyOrder) {
  const Csr a = make(2, 3, {{1, 2, 5}, {0, 1, 2}, {1, 0, 4}, {0, 0, 1}});
  EXPECT_EQ(a.start, (std::vector<uint64_t>{0, 2, 4}));
  EXPECT_EQ(a.column, (std::vector<uint32_t>{0, 1, 0, 2}));
  EXPECT_EQ(a.value, (std::vector<double>{1, 2, 4, 5}));
}

TEST(Assemble, MirrorImages) {
  const Csr s = make(2, 2, {{0, 0, 1}, {1, 0, 3}}, Mirror::symmetric);
  EXPECT_EQ(s.value, (std::vector<double>{1, 3, 3}));
  EXPECT_TRUE(is_its_transpose(s));
  const Csr k = make(2, 2, {{1, 0, 3}}, Mirror::skew);
  EXPECT_EQ(k.value, (std::vector<double>{-3, 3}));
  EXPECT_FALSE(is_its_transpose(k));
}

TEST(Assemble, ASecondEntryInAPlaceIsRefused) {
  EXPECT_EQ(refusal([] {
              return make(1, 1, {{0, 0, 1, 7}, {0, 0, 2, 9}, {0, 0, 3, 8}});
            }),
            "line 8: row 1, column 1 stands here a second time; add the two or leave one out");
  EXPECT_NE(refusal([] { return make(2, 2, {{0, 1, 1}, {1, 0, 1}}, Mirror::symmetric); }), "");
}

TEST(Assemble, SomeRows) {
  const std::vector<Entry> entries{{0, 0, 1}, {2, 0, 3}, {2, 1, 5}, {3, 3, 7}};
  const Csr middle = assemble({1, 3}, 4, entries, Mirror::symmetric, where);
  EXPECT_EQ(middle.rows, 2U);
  EXPECT_EQ(middle.start, (std::vector<uint64_t>{0, 1, 3}));
  EXPECT_EQ(middle.column, (std::vector<uint32_t>{2, 0, 1}));
  EXPECT_EQ(middle.value, (std::vector<double>{5, 3, 5}));
  EXPECT_EQ(assemble({2, 2}, 4, entries, Mirror::none, where).rows, 0U);
  expect_in("line 5: row 4, column 1", refusal([] {
              return assemble({3, 4}, 4, std::vector<Entry>(2, {3, 0, 1, 5}), Mirror::none, where);
            }));
}

TEST(Assemble, MoreRowsThanEntriesCanFillAreRefused) {
  const auto enough = [](uint32_t rows, uint64_t entries) {
    return refusal([&] {
      check_enough(rows, entries, "line 2: ");
      return 0;
    });
  };
  EXPECT_TRUE(enough(2000000000, 1).starts_with("line 2: 2000000000 rows, but only 1 entries"));
  EXPECT_NE(enough(3, 1), "");
  EXPECT_EQ(enough(2, 1), "");
}

TEST(CheckSolvable, SaysWhatIsWrong) {
  EXPECT_EQ(refusal([] { return solvable(make(2, 2, {{0, 0, 1}, {1, 1, 1}})); }), "");
  expect_in("no rows", refusal([] { return solvable(Csr{}); }));
  expect_in("square", refusal([] { return solvable(make(1, 2, {{0, 0, 1}})); }));
  expect_in("row 2 has no entries", refusal([] { return solvable(make(2, 2, {{0, 0, 1}})); }));
  expect_in("row 1, column 1 is nan", refusal([] { return solvable(make(1, 1, {{0, 0, NAN}})); }));
}

TEST(Generate, TwentySevenPoints) {
  const Csr a = generate(stencil_27(), {{4, 3, 5}});
  check_solvable(a);
  EXPECT_EQ(a.rows, 60U);
  EXPECT_EQ(a.entries(), 10U * 7 * 13);  // 3 n - 2 along each axis
  EXPECT_TRUE(is_its_transpose(a));
  const auto inner = a.columns_of(1 + 4 * (1 + 3 * 1));
  EXPECT_EQ(inner.size(), 27U);
  EXPECT_TRUE(std::ranges::is_sorted(inner));
}

TEST(Generate, SevenPointsAndWeights) {
  const Csr a = generate(stencil_7({1, 10, 100}), {{3, 3, 3}});
  EXPECT_TRUE(is_its_transpose(a));
  std::vector<double> ones(27, 1.0), y(27);
  multiply(a, 0, 27, ones.data(), y.data());
  EXPECT_EQ(y[13], 0);   // the middle
  EXPECT_EQ(y[0], 111);  // a corner lacks one neighbour along each axis
  EXPECT_EQ(generate(stencil_7(), {{1, 1, 1}}).value, std::vector<double>{6});
}

TEST(Generate, GridsThatCannotBe) {
  expect_in("no points", refusal([] { return generate(stencil_7(), {{3, 0, 3}}); }));
  expect_in("more than", refusal([] { return generate(stencil_7(), {{65536, 65536, 1}}); }));
}

class Random {
 public:
  uint32_t below(uint32_t limit) {
    return std::uniform_int_distribution<uint32_t>(0, limit - 1)(engine_);
  }
  double value() { return std::uniform_real_distribution<double>(-1, 1)(engine_); }

 private:
  std::mt19937 engine_{7};  // NOLINT: the same matrices every time
};

// Rows of 1 to `most` entries anywhere among the columns, so that there are wide chunks and short rows.
Csr random_matrix(uint32_t rows, uint32_t columns, uint32_t most, uint32_t spread) {
  Random random;
  std::vector<Entry> entries;
  for (uint32_t row = 0; row < rows; ++row) {
    uint32_t column = random.below(spread);
    for (uint32_t k = random.below(most) + 1; k > 0 && column < columns; --k) {
      entries.push_back({row, column, random.value()});
      column += 1 + random.below(spread);
    }
  }
  return make(rows, columns, entries);
}

class Sells : public ::testing::TestWithParam<Isa> {};

void expect_same_product(const Csr& a, Isa isa) {
  Sell s = to_sell(a);
  s.isa = isa;
  Random random;
  std::vector<double> x(a.columns), expected(a.rows), y(a.rows, -1);
  for (double& value : x) value = random.value();
  multiply(a, 0, a.rows, x.data(), expected.data());
  multiply(s, 0, a.rows, x.data(), y.data());
  EXPECT_EQ(y, expected);
}

TEST_P(Sells, MultiplyAsCsrDoes) {
  if (!has(GetParam())) GTEST_SKIP() << "this processor has no " << name_of(GetParam());
  expect_same_product(generate(stencil_27(), {{11, 12, 13}}), GetParam());
  for (const uint32_t rows : {1U, 7U, 8U, 9U, 1023U, 1024U, 1025U, 5000U})
    expect_same_product(random_matrix(rows, rows + 400000, 20, 20000), GetParam());
  expect_same_product(random_matrix(3000, 4000, 9, 100), GetParam());
}

// Offsets that are neighbours by their last 16 bits alone.
TEST_P(Sells, NeighboursEndWithTheOffsets) {
  if (!has(GetParam())) GTEST_SKIP() << "this processor has no " << name_of(GetParam());
  for (const uint32_t before : {0U, 1U, 3U, 7U}) {
    std::vector<Entry> entries;
    for (uint32_t row = 0; row < Sell::kRows; ++row)
      entries.push_back({row, (0x10000 - before + row) % 0x10000, row + 1.0});
    entries.push_back({8, 0, 1});
    entries.push_back({9, 0xffff, 1});
    expect_same_product(make(10, 0x10000, entries), GetParam());
  }
}

INSTANTIATE_TEST_SUITE_P(, Sells, ::testing::Values(Isa::portable, Isa::avx2, Isa::avx512),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(Sell, OffsetsAreNarrowWhereTheyCanBe) {
  const Sell near = to_sell(generate(stencil_27(), {{20, 20, 20}}));
  EXPECT_TRUE(near.column.empty());
  EXPECT_EQ(near.offset.size(), near.value.size());
  const Sell far = to_sell(random_matrix(100, 400000, 20, 20000));
  EXPECT_GT(far.column.size(), far.offset.size());
  EXPECT_EQ(far.column.size() + far.offset.size(), far.value.size());
}

TEST(Sell, SortingKeepsTheFillSmall) {
  // Every second row has 1 entry, the others 9: unsorted, almost half would be fill.
  std::vector<Entry> entries;
  for (uint32_t row = 0; row < 2048; ++row)
    for (uint32_t k = 0; k < (row % 2 == 0 ? 1U : 9U); ++k) entries.push_back({row, k, 1});
  EXPECT_EQ(to_sell(make(2048, 9, entries)).value.size(), entries.size());
}

}  // namespace
