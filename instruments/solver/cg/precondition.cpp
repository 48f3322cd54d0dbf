// SPDX-License-Identifier: BSD-3-Clause
#include "solver/cg/precondition.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/input_error.hpp"

namespace ompl::solver {

namespace {

// Where the row's diagonal entry stands.
uint64_t diagonal_of(const Csr& matrix, uint32_t row) {
  const auto columns = matrix.columns_of(row);
  const auto found = std::ranges::lower_bound(columns, row);
  if (found == columns.end() || *found != row)
    refuse("row {} of this part has no diagonal entry; solve without preconditioner", row + 1);
  return matrix.start[row] + static_cast<uint64_t>(found - columns.begin());
}

}  // namespace

Jacobi::Jacobi(const Csr& own, Team& team) : team_(team), partial_(blocks_of(own.rows)) {
  inverse_.reserve(own.rows);
  for (uint32_t row = 0; row < own.rows; ++row) {
    const double pivot = own.value[diagonal_of(own, row)];
    if (!(pivot > 0))
      refuse("row {} of this part has {} on the diagonal; Jacobi needs it above 0", row + 1, pivot);
    inverse_.push_back(1 / pivot);
  }
}

double Jacobi::apply(const double* r, double* z) {
  team_.for_blocks(0, static_cast<uint32_t>(partial_.size()), [&](uint32_t block, uint32_t) {
    const uint32_t first = block * kBlock,
                   last = std::min(first + kBlock, static_cast<uint32_t>(inverse_.size()));
    for (uint32_t i = first; i < last; ++i) z[i] = inverse_[i] * r[i];
    partial_[block] = block_dot(r + first, z + first, last - first);
  });
  return sum_in_order(partial_);
}

BlockJacobi::BlockJacobi(const Csr& own, uint32_t blocks, Team& team, std::span<const uint32_t> global)
    : team_(team), vectors_(team, own.rows), row_(own.rows), solution_(own.rows) {
  if (blocks == 0 || own.rows < blocks)
    refuse("block-Jacobi with {} blocks of {} rows; it must be 1 to the number of rows", blocks,
           own.rows);
  std::iota(row_.begin(), row_.end(), 0);
  if (!global.empty()) std::ranges::sort(row_, {}, [&](uint32_t row) { return global[row]; });
  std::vector<uint32_t> place(own.rows);  // of a row of `own` in the factors
  for (uint32_t i = 0; i < own.rows; ++i) place[row_[i]] = i;
  factors_.rows = factors_.columns = own.rows;
  for (uint32_t block = 0; block <= blocks; ++block)
    bounds_.push_back(static_cast<uint32_t>(uint64_t{own.rows} * block / blocks));
  for (uint32_t block = 0; block < blocks; ++block) {
    take_block(own, place, bounds_[block], bounds_[block + 1]);
    factor(bounds_[block], bounds_[block + 1]);
  }
}

void BlockJacobi::take_block(const Csr& own, std::span<const uint32_t> place, uint32_t first,
                             uint32_t last) {
  std::vector<std::pair<uint32_t, double>> entries;  // of a row, in the order of the factors
  for (uint32_t i = first; i < last; ++i) {
    entries.clear();
    for (uint64_t k = own.start[row_[i]]; k < own.start[row_[i] + 1]; ++k) {
      const uint32_t column = place[own.column[k]];
      if (column >= first && column < last) entries.emplace_back(column, own.value[k]);
    }
    std::ranges::sort(entries, {}, &std::pair<uint32_t, double>::first);
    for (const auto& [column, value] : entries) {
      factors_.column.push_back(column);
      factors_.value.push_back(value);
    }
    factors_.start.push_back(factors_.column.size());
    diagonal_.push_back(diagonal_of(factors_, i));
  }
}

// Row by row (IKJ; Saad, "Iterative Methods for Sparse Linear Systems", algorithm 10.4).
void BlockJacobi::factor(uint32_t first, uint32_t last) {
  constexpr uint64_t kNone = ~uint64_t{0};
  std::vector<uint64_t> place(last - first, kNone);  // of the columns of the row at work
  for (uint32_t row = first; row < last; ++row) {
    const uint64_t start = factors_.start[row], end = factors_.start[row + 1];
    for (uint64_t k = start; k < end; ++k) place[factors_.column[k] - first] = k;
    for (uint64_t k = start; k < diagonal_[row]; ++k) {
      const uint32_t above = factors_.column[k];
      const double multiplier = factors_.value[k] /= factors_.value[diagonal_[above]];
      for (uint64_t j = diagonal_[above] + 1; j < factors_.start[above + 1]; ++j) {
        const uint64_t to = place[factors_.column[j] - first];
        if (to != kNone) factors_.value[to] -= multiplier * factors_.value[j];
      }
    }
    for (uint64_t k = start; k < end; ++k) place[factors_.column[k] - first] = kNone;
    const double pivot = factors_.value[diagonal_[row]];
    if (!(pivot > 0))
      refuse(
          "ILU(0) has the pivot {} in row {} of this part; it must be above 0: solve with Jacobi or "
          "without",
          pivot, row + 1);
  }
}

void BlockJacobi::solve(uint32_t first, uint32_t last, const double* r, double* z) {
  double* const x = solution_.data();
  for (uint32_t row = first; row < last; ++row) {
    double sum = r[row_[row]];
    for (uint64_t k = factors_.start[row]; k < diagonal_[row]; ++k)
      sum -= factors_.value[k] * x[factors_.column[k]];
    x[row] = sum;
  }
  for (uint32_t row = last; row-- > first;) {
    double sum = x[row];
    for (uint64_t k = diagonal_[row] + 1; k < factors_.start[row + 1]; ++k)
      sum -= factors_.value[k] * x[factors_.column[k]];
    z[row_[row]] = x[row] = sum / factors_.value[diagonal_[row]];
  }
}

double BlockJacobi::apply(const double* r, double* z) {
  team_.for_blocks(0, static_cast<uint32_t>(bounds_.size() - 1),
                   [&](uint32_t block, uint32_t) { solve(bounds_[block], bounds_[block + 1], r, z); });
  return vectors_.dot(r, z);
}

}  // namespace ompl::solver
