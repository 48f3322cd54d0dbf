// SPDX-License-Identifier: BSD-3-Clause
// Every partition gives each part rows; quality counts as counting by hand does; what cannot be is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "same.hpp"
#include "solver/partition/local.hpp"
#include "solver/partition/partition.hpp"
#include "tests/refusal.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

std::vector<uint32_t> sizes(const Partition& p) {
  std::vector<uint32_t> out(p.parts);
  for (const uint32_t part : p.part_of) ++out.at(part);
  return out;
}

// Whether this was built with METIS; the refusal is then the test.
bool have_metis() {
  const std::string why = refusal([] {
    return partition_metis(generate(stencil_7(), {{2, 2, 2}}), 2, MetisWay::kway);
  });
  if (!why.empty()) expect_in("libmetis-dev", why);
  return why.empty();
}

TEST(Partition, Rows) {
  EXPECT_EQ(sizes(partition_rows(10, 3)), (std::vector<uint32_t>{3, 3, 4}));
  const Partition p = partition_rows(1000, 7);
  EXPECT_TRUE(std::ranges::is_sorted(p.part_of));
  EXPECT_EQ(sizes(partition_rows(5, 5)), std::vector<uint32_t>(5, 1));
}

TEST(Partition, Entries) {
  // Row 0 has 100 entries, 100 others one each.
  std::vector<Entry> entries;
  for (uint32_t i = 0; i < 100; ++i) entries.push_back({0, i, 1});
  for (uint32_t i = 1; i <= 100; ++i) entries.push_back({i, i, 1});
  const Csr a = assemble({0, 101}, 101, entries, Mirror::none, [](uint64_t) { return ""; });
  EXPECT_EQ(sizes(partition_entries(a.row_lengths(), 2)), (std::vector<uint32_t>{1, 100}));
  for (const uint32_t parts : {1U, 3U, 50U, 100U, 101U}) {
    const Partition p = partition_entries(a.row_lengths(), parts);
    EXPECT_TRUE(std::ranges::is_sorted(p.part_of));
    EXPECT_GT(std::ranges::min(sizes(p)), 0U) << parts;
  }
}

TEST(Partition, Boxes) {
  for (const uint32_t parts : {1U, 2U, 8U, 12U, 27U, 30U}) {
    const std::vector<uint32_t> s = sizes(partition_blocks({{7, 9, 10}}, parts));
    EXPECT_GT(std::ranges::min(s), 0U) << parts;
  }
  EXPECT_EQ(sizes(partition_blocks({{4, 4, 4}}, 8)), std::vector<uint32_t>(8, 8));
  EXPECT_THROW((void)partition_blocks({{4, 4, 4}}, 7), ompl::InputError);
}

TEST(Partition, RefusesNumbersOfParts) {
  const Csr a = generate(stencil_7(), {{2, 2, 2}});
  for (const uint32_t parts : {0U, 9U}) {
    EXPECT_THROW((void)partition_rows(8, parts), ompl::InputError);
    EXPECT_THROW((void)partition_entries(a.row_lengths(), parts), ompl::InputError);
    EXPECT_THROW((void)partition_blocks({{2, 2, 2}}, parts), ompl::InputError);
    EXPECT_THROW((void)partition_metis(a, parts, MetisWay::kway), ompl::InputError);
  }
}

TEST(Partition, MetisCutsLessThanRows) {
  if (!have_metis()) GTEST_SKIP() << "built without METIS";
  const Csr a = generate(stencil_27(), {{24, 24, 24}});
  const Quality rows = quality(a, partition_rows(a.rows, 16));
  for (const MetisWay way : {MetisWay::kway, MetisWay::recursive}) {
    const Partition p = partition_metis(a, 16, way);
    const Quality q = quality(a, p);
    EXPECT_LT(q.halo, rows.halo / 2);
    EXPECT_LT(q.rows_most, 1.1);
    EXPECT_GT(q.interior_least, rows.interior_least);
    EXPECT_EQ(partition_metis(a, 16, way).part_of, p.part_of);
  }
}

TEST(Partition, MetisOfAnUnsymmetricPattern) {
  if (!have_metis()) GTEST_SKIP() << "built without METIS";
  std::vector<Entry> entries;
  for (uint32_t i = 0; i < 64; ++i) entries.insert(entries.end(), {{i, i, 1}, {i, (i + 1) % 64, 1}});
  const Csr ring = assemble({0, 64}, 64, entries, Mirror::none, [](uint64_t) { return ""; });
  EXPECT_EQ(quality(ring, partition_metis(ring, 4, MetisWay::recursive)).cut, 4U);
}

TEST(Quality, ALineInTwo) {
  const Csr a = generate(stencil_7(), {{10, 1, 1}});
  const Quality q = quality(a, partition_rows(10, 2));
  EXPECT_EQ(q.cut, 2U);
  EXPECT_EQ(q.halo, 2U);
  EXPECT_EQ(q.neighbours_most, 1U);
  EXPECT_EQ(q.smallest_message, 8U);
  EXPECT_DOUBLE_EQ(q.interior_least, 0.8);
  EXPECT_DOUBLE_EQ(q.rows_most, 1);
  EXPECT_EQ(quality(a, partition_rows(10, 1)).smallest_message, 0U);
}

TEST(Localize, GivesAndTakesTheSameRows) {
  const Grid grid{{6, 7, 8}};
  const Csr a = generate(stencil_27(), grid);
  const Partition p = partition_blocks(grid, 12);
  std::vector<LocalMatrix> parts;
  for (uint32_t part = 0; part < p.parts; ++part) parts.push_back(localize(a, p, part));
  uint64_t entries = 0, halo = 0;
  std::set<uint32_t> rows;
  for (uint32_t part = 0; part < p.parts; ++part) {
    const LocalMatrix& m = parts[part];
    entries += m.own.entries() + m.coupling.entries();
    rows.insert(m.global.begin(), m.global.end());
    std::set<uint32_t> coupled;
    for (const Coupling::Run& run : m.coupling.runs) coupled.insert(run.row);
    EXPECT_EQ(coupled.size(), m.own.rows - m.interior);
    EXPECT_TRUE(coupled.empty() || *coupled.begin() == m.interior);
    for (const Pattern::Neighbour& n : m.pattern.neighbours) {
      halo += n.receive;
      const auto& others = parts[n.part].pattern.neighbours;
      const auto back = std::ranges::find(others, part, &Pattern::Neighbour::part);
      ASSERT_NE(back, others.end());
      EXPECT_EQ(back->send.size(), n.receive);
    }
  }
  EXPECT_EQ(entries, a.entries());
  EXPECT_EQ(rows.size(), a.rows);
  EXPECT_EQ(halo, quality(a, p).halo);
}

TEST(Partition, RowBlocksByArithmetic) {
  for (const uint32_t rows : {1U, 2U, 5U, 10U, 997U}) {
    for (const uint32_t parts : {1U, 2U, 3U, 7U, 10U, 64U}) {
      uint32_t next = 0;
      for (uint32_t part = 0; part < parts; ++part) {
        const RowRange block = row_block(rows, parts, part);
        EXPECT_EQ(block.first, next);
        for (next = block.first; next < block.last; ++next)
          EXPECT_EQ(block_of_row(rows, parts, next), part) << rows << " rows, " << parts << " parts";
      }
      EXPECT_EQ(next, rows);
    }
  }
}

Slice slice_of(const Csr& a, const Partition& p, uint32_t part) {
  Slice out;
  out.rows.columns = a.columns;
  for (uint32_t row = 0; row < a.rows; ++row) {
    if (p.part_of[row] != part) continue;
    out.global.push_back(row);
    out.rows.append(a[row]);
  }
  return out;
}

// Parts that ask each other make the same as one that looks at the whole matrix.
TEST(Localize, FromASlice) {
  const Grid grid{{6, 7, 8}};
  Csr a = generate(stencil_27(), grid);
  const Partition p = partition_blocks(grid, 12);
  for (const bool symmetric : {true, false}) {
    if (!symmetric) a.column.back() = 0;  // needs what does not need it
    std::vector<Slice> slices;
    std::vector<std::vector<std::vector<uint32_t>>> needed;
    for (uint32_t part = 0; part < p.parts; ++part) {
      slices.push_back(slice_of(a, p, part));
      needed.push_back(needed_by(slices.back(), p, part));
    }
    for (uint32_t part = 0; part < p.parts; ++part) {
      Traffic traffic{.send = {}, .receive = needed[part]};
      for (const auto& other : needed) traffic.send.push_back(other[part]);
      expect_same(localize(slices[part], p, part, traffic), localize(a, p, part));
    }
  }
}

// Without the rows in between.
TEST(Localize, InChunks) {
  const Grid grid{{16, 17, 18}};
  const Csr a = generate(stencil_27(), grid);
  const Partition p = partition_rows(a.rows, 2);
  for (uint32_t part = 0; part < p.parts; ++part) {
    const Slice mine = slice_of(a, p, part);
    Traffic traffic{.send = {}, .receive = needed_by(mine, p, part)};
    traffic.send.resize(p.parts);
    const LocalMatrix rows = localize(mine, p, part, traffic);
    const LocalMatrix chunks = localize(mine, p, part, traffic, Storage::chunks);
    const Sell expected = to_sell(rows.own);
    ASSERT_GT(expected.rows, 2 * kBlock);
    EXPECT_EQ(chunks.own.rows, rows.own.rows);
    EXPECT_EQ(chunks.own.entries(), 0);
    EXPECT_EQ(chunks.entries, rows.own.entries());
    EXPECT_EQ(chunks.coupling.value, rows.coupling.value);
    EXPECT_EQ(chunks.chunks.rows, expected.rows);
    EXPECT_EQ(chunks.chunks.columns, expected.columns);
    EXPECT_EQ(chunks.chunks.value, expected.value);
    EXPECT_EQ(chunks.chunks.offset, expected.offset);
    EXPECT_EQ(chunks.chunks.row, expected.row);
  }
}

}  // namespace
