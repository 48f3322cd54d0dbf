// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix/csr.hpp"

#include <algorithm>
#include <cmath>

#include "common/input_error.hpp"

namespace ompl::solver {

namespace {

// Calls f(row, column, value, line), rows counted from the first, for what an entry stands for in these rows.
template <class F>
void for_each(std::span<const Entry> entries, RowRange rows, Mirror mirror, const F& f) {
  for (const Entry& e : entries) {
    if (rows.has(e.row)) f(e.row - rows.first, e.column, e.value, e.line);
    if (mirror != Mirror::none && e.row != e.column && rows.has(e.column))
      f(e.column - rows.first, e.row, mirror == Mirror::skew ? -e.value : e.value, e.line);
  }
}

struct Placed {
  uint64_t line;
  double value;
  uint32_t column;
};

// Of the rest of a row, from entry k on.
double add_up(const Row& row, std::size_t k, const double* x, double sum) {
  for (; k < row.columns.size(); ++k) sum += row.values[k] * x[row.columns[k]];
  return sum;
}

}  // namespace

Csr assemble(RowRange rows, uint32_t columns, std::span<const Entry> entries, Mirror mirror,
             const std::function<std::string(uint64_t)>& where) {
  Csr out{.rows = rows.size(),
          .columns = columns,
          .start = std::vector<uint64_t>(uint64_t{rows.size()} + 1),
          .column = {},
          .value = {}};
  for_each(entries, rows, mirror,
           [&](uint32_t row, uint32_t, double, uint64_t) { ++out.start[row + 1]; });
  for (uint32_t row = 0; row < out.rows; ++row) out.start[row + 1] += out.start[row];

  std::vector<Placed> placed(out.start[out.rows]);
  std::vector<uint64_t> next(out.start.begin(), out.start.end() - 1);
  for_each(entries, rows, mirror, [&](uint32_t row, uint32_t column, double value, uint64_t line) {
    placed[next[row]++] = {line, value, column};
  });
  out.column.reserve(placed.size());
  out.value.reserve(placed.size());
  for (uint32_t row = 0; row < out.rows; ++row) {
    const std::span here(placed.data() + out.start[row], placed.data() + out.start[row + 1]);
    std::ranges::sort(here, [](const Placed& a, const Placed& b) {
      return a.column != b.column ? a.column < b.column : a.line < b.line;
    });
    for (const Placed& p : here) {
      if (out.column.size() > out.start[row] && out.column.back() == p.column)
        refuse("{}row {}, column {} stands here a second time; add the two or leave one out",
               where(p.line), uint64_t{rows.first} + row + 1, p.column + 1);
      out.column.push_back(p.column);
      out.value.push_back(p.value);
    }
  }
  return out;
}

void check_enough(uint32_t rows, uint64_t entries, const std::string& where) {
  if (rows > 2 * entries)
    refuse("{}{} rows, but only {} entries: rows without entries cannot be solved for; leave them out",
           where, rows, entries);
}

void check_square(uint32_t rows, uint32_t columns) {
  if (rows != columns)
    refuse("the matrix has {} rows and {} columns; only a square one can be solved", rows, columns);
}

void check_finite(const Csr& some, uint32_t first) {
  for (uint32_t row = 0; row < some.rows; ++row) {
    for (uint64_t k = some.start[row]; k < some.start[row + 1]; ++k) {
      if (!std::isfinite(some.value[k]))
        refuse("row {}, column {} is {}, not a finite number", uint64_t{first} + row + 1,
               some.column[k] + 1, some.value[k]);
    }
  }
}

void check_no_empty_row(const Csr& some, uint32_t first) {
  for (uint32_t row = 0; row < some.rows; ++row) {
    if (some.start[row] == some.start[row + 1])
      refuse("row {} has no entries, so the matrix is singular; leave the row out",
             uint64_t{first} + row + 1);
  }
}

void check_solvable(const Csr& matrix) {
  if (matrix.rows == 0) refuse("the matrix has no rows");
  check_square(matrix.rows, matrix.columns);
  check_finite(matrix, 0);
  check_no_empty_row(matrix, 0);
}

bool has(const Csr& matrix, uint32_t row, uint32_t column, double value) {
  const auto columns = matrix.columns_of(row);
  const auto at = std::ranges::lower_bound(columns, column);
  return at != columns.end() && *at == column &&
         matrix.value[matrix.start[row] + static_cast<uint64_t>(at - columns.begin())] == value;
}

void multiply(const Csr& matrix, uint32_t first, uint32_t last, const double* x, double* y) {
  // Two rows side by side: neither has to wait for the other's sums.
  for (; first + 1 < last; first += 2) {
    const Row even = matrix[first], odd = matrix[first + 1];
    const std::size_t both = std::min(even.columns.size(), odd.columns.size());
    double even_sum = 0, odd_sum = 0;
    for (std::size_t k = 0; k < both; ++k) {
      even_sum += even.values[k] * x[even.columns[k]];
      odd_sum += odd.values[k] * x[odd.columns[k]];
    }
    y[first] = add_up(even, both, x, even_sum);
    y[first + 1] = add_up(odd, both, x, odd_sum);
  }
  if (first < last) y[first] = add_up(matrix[first], 0, x, 0);
}

}  // namespace ompl::solver
