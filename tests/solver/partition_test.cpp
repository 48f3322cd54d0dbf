// SPDX-License-Identifier: BSD-3-Clause
// Every partition gives each part rows; quality counts as counting by hand does; what cannot be is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "solver/error.hpp"
#include "solver/local.hpp"
#include "solver/quality.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

std::vector<uint32_t> sizes(const Partition& p) {
  std::vector<uint32_t> out(p.parts);
  for (const uint32_t part : p.part_of) ++out.at(part);
  return out;
}

// Whether this was built with METIS; the refusal is then the test.
bool have_metis() {
  try {
    (void)partition_metis(generate(stencil_7(), {{2, 2, 2}}), 2, MetisWay::kway);
    return true;
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("libmetis-dev"), std::string::npos);
    return false;
  }
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
  const Csr a = assemble(101, 101, entries, Mirror::none, [](uint64_t) { return ""; });
  EXPECT_EQ(sizes(partition_entries(a, 2)), (std::vector<uint32_t>{1, 100}));
  for (const uint32_t parts : {1U, 3U, 50U, 100U, 101U}) {
    const Partition p = partition_entries(a, parts);
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
  EXPECT_THROW((void)partition_blocks({{4, 4, 4}}, 7), InputError);
}

TEST(Partition, RefusesNumbersOfParts) {
  const Csr a = generate(stencil_7(), {{2, 2, 2}});
  for (const uint32_t parts : {0U, 9U}) {
    EXPECT_THROW((void)partition_rows(8, parts), InputError);
    EXPECT_THROW((void)partition_entries(a, parts), InputError);
    EXPECT_THROW((void)partition_blocks({{2, 2, 2}}, parts), InputError);
    EXPECT_THROW((void)partition_metis(a, parts, MetisWay::kway), InputError);
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
  const Csr ring = assemble(64, 64, entries, Mirror::none, [](uint64_t) { return ""; });
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

// A part makes the same of its own rows, generated without the others, as of the whole matrix.
TEST(Localize, FromASlice) {
  const Grid grid{{6, 7, 8}};
  const Csr a = generate(stencil_27(), grid);
  const Partition p = partition_blocks(grid, 12);
  for (uint32_t part = 0; part < p.parts; ++part) {
    Slice mine;
    for (uint32_t row = 0; row < a.rows; ++row)
      if (p.part_of[row] == part) mine.global.push_back(row);
    mine.rows = generate(stencil_27(), grid, mine.global);
    const LocalMatrix slice = localize(mine, p, part), whole = localize(a, p, part);
    EXPECT_EQ(slice.interior, whole.interior);
    EXPECT_EQ(slice.global, whole.global);
    EXPECT_EQ(slice.own.start, whole.own.start);
    EXPECT_EQ(slice.own.column, whole.own.column);
    EXPECT_EQ(slice.own.value, whole.own.value);
    EXPECT_EQ(slice.coupling.start, whole.coupling.start);
    EXPECT_EQ(slice.coupling.column, whole.coupling.column);
    EXPECT_EQ(slice.coupling.value, whole.coupling.value);
    ASSERT_EQ(slice.pattern.neighbours.size(), whole.pattern.neighbours.size());
    for (std::size_t i = 0; i < slice.pattern.neighbours.size(); ++i) {
      EXPECT_EQ(slice.pattern.neighbours[i].part, whole.pattern.neighbours[i].part);
      EXPECT_EQ(slice.pattern.neighbours[i].send, whole.pattern.neighbours[i].send);
      EXPECT_EQ(slice.pattern.neighbours[i].receive, whole.pattern.neighbours[i].receive);
    }
  }
}

}  // namespace
