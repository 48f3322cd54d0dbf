// SPDX-License-Identifier: BSD-3-Clause
#include "solver/csr.hpp"

#include <algorithm>
#include <cmath>

#include "solver/error.hpp"

namespace ompl::solver {

namespace {

// Calls f(row, column, value, index) for each entry and for its mirror image.
template <class F>
void for_each(std::span<const Entry> entries, Mirror mirror, const F& f) {
  for (uint64_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    f(e.row, e.column, e.value, i);
    if (mirror != Mirror::none && e.row != e.column)
      f(e.column, e.row, mirror == Mirror::skew ? -e.value : e.value, i);
  }
}

struct Placed {
  uint64_t index;  // of the entry
  double value;
  uint32_t column;
};

Csr transpose(const Csr& matrix) {
  Csr out{.rows = matrix.columns,
          .columns = matrix.rows,
          .start = std::vector<uint64_t>(matrix.columns + 1),
          .column = std::vector<uint32_t>(matrix.entries()),
          .value = std::vector<double>(matrix.entries())};
  for (const uint32_t column : matrix.column) ++out.start[column + 1];
  for (uint32_t row = 0; row < out.rows; ++row) out.start[row + 1] += out.start[row];
  std::vector<uint64_t> next(out.start.begin(), out.start.end() - 1);
  for (uint32_t row = 0; row < matrix.rows; ++row) {
    for (uint64_t k = matrix.start[row]; k < matrix.start[row + 1]; ++k) {
      const uint64_t to = next[matrix.column[k]]++;
      out.column[to] = row;
      out.value[to] = matrix.value[k];
    }
  }
  return out;
}

double row_product(const Csr& matrix, uint32_t row, const double* x) {
  double sum = 0;
  const uint64_t end = matrix.start[row + 1];
  for (uint64_t k = matrix.start[row]; k < end; ++k) sum += matrix.value[k] * x[matrix.column[k]];
  return sum;
}

}  // namespace

Csr assemble(uint32_t rows, uint32_t columns, std::span<const Entry> entries, Mirror mirror,
             const std::function<std::string(uint64_t)>& where) {
  if (rows > 2 * entries.size())
    refuse("{}{} rows, but only {} entries: rows without entries cannot be solved for; leave them out",
           entries.empty() ? "" : where(entries.size() - 1), rows, entries.size());
  Csr out{.rows = rows,
          .columns = columns,
          .start = std::vector<uint64_t>(uint64_t{rows} + 1),
          .column = {},
          .value = {}};
  for_each(entries, mirror, [&](uint32_t row, uint32_t, double, uint64_t) { ++out.start[row + 1]; });
  for (uint32_t row = 0; row < rows; ++row) out.start[row + 1] += out.start[row];

  std::vector<Placed> placed(out.start[rows]);
  std::vector<uint64_t> next(out.start.begin(), out.start.end() - 1);
  for_each(entries, mirror, [&](uint32_t row, uint32_t column, double value, uint64_t index) {
    placed[next[row]++] = {index, value, column};
  });
  out.column.reserve(placed.size());
  out.value.reserve(placed.size());
  for (uint32_t row = 0; row < rows; ++row) {
    const std::span here(placed.data() + out.start[row], placed.data() + out.start[row + 1]);
    std::ranges::sort(here, [](const Placed& a, const Placed& b) {
      return a.column != b.column ? a.column < b.column : a.index < b.index;
    });
    for (const Placed& p : here) {
      if (out.column.size() > out.start[row] && out.column.back() == p.column)
        refuse("{}row {}, column {} stands here a second time; add the two or leave one out",
               where(p.index), row + 1, p.column + 1);
      out.column.push_back(p.column);
      out.value.push_back(p.value);
    }
  }
  return out;
}

void check_solvable(const Csr& matrix) {
  if (matrix.rows == 0) refuse("the matrix has no rows");
  if (matrix.rows != matrix.columns)
    refuse("the matrix has {} rows and {} columns; only a square one can be solved", matrix.rows,
           matrix.columns);
  for (uint32_t row = 0; row < matrix.rows; ++row) {
    if (matrix.start[row] == matrix.start[row + 1])
      refuse("row {} has no entries, so the matrix is singular; leave the row out", row + 1);
    for (uint64_t k = matrix.start[row]; k < matrix.start[row + 1]; ++k) {
      if (!std::isfinite(matrix.value[k]))
        refuse("row {}, column {} is {}, not a finite number", row + 1, matrix.column[k] + 1,
               matrix.value[k]);
    }
  }
}

bool is_symmetric(const Csr& matrix) {
  if (matrix.rows != matrix.columns) return false;
  const Csr other = transpose(matrix);
  return matrix.start == other.start && matrix.column == other.column && matrix.value == other.value;
}

void multiply(const Csr& matrix, uint32_t first, uint32_t last, const double* x, double* y) {
  for (uint32_t row = first; row < last; ++row) y[row] = row_product(matrix, row, x);
}

}  // namespace ompl::solver
