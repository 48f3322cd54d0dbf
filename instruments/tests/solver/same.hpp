// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include "solver/partition/local.hpp"

// To the bit.
inline void expect_same(const ompl::solver::LocalMatrix& a, const ompl::solver::LocalMatrix& b) {
  EXPECT_EQ(a.interior, b.interior);
  EXPECT_EQ(a.global, b.global);
  EXPECT_EQ(a.own.rows, b.own.rows);
  EXPECT_EQ(a.own.columns, b.own.columns);
  EXPECT_EQ(a.own.start, b.own.start);
  EXPECT_EQ(a.own.column, b.own.column);
  EXPECT_EQ(a.own.value, b.own.value);
  EXPECT_EQ(a.coupling.start, b.coupling.start);
  EXPECT_EQ(a.coupling.column, b.coupling.column);
  EXPECT_EQ(a.coupling.value, b.coupling.value);
  ASSERT_EQ(a.coupling.runs.size(), b.coupling.runs.size());
  for (std::size_t i = 0; i < a.coupling.runs.size(); ++i) {
    EXPECT_EQ(a.coupling.runs[i].row, b.coupling.runs[i].row);
    EXPECT_EQ(a.coupling.runs[i].neighbour, b.coupling.runs[i].neighbour);
  }
  ASSERT_EQ(a.pattern.neighbours.size(), b.pattern.neighbours.size());
  for (std::size_t i = 0; i < a.pattern.neighbours.size(); ++i) {
    EXPECT_EQ(a.pattern.neighbours[i].part, b.pattern.neighbours[i].part);
    EXPECT_EQ(a.pattern.neighbours[i].send, b.pattern.neighbours[i].send);
    EXPECT_EQ(a.pattern.neighbours[i].receive, b.pattern.neighbours[i].receive);
  }
}

inline bool is_its_transpose(const ompl::solver::Csr& a) {
  for (uint32_t row = 0; row < a.rows; ++row)
    for (uint64_t k = a.start[row]; k < a.start[row + 1]; ++k)
      if (!ompl::solver::has(a, a.column[k], row, a.value[k])) return false;
  return true;
}
