// SPDX-License-Identifier: BSD-3-Clause
// LU factorization of a matrix in tiles, without pivots, as tasks over ranks: a finished tile goes to the ranks of its row or column
// while others are still worked on.
//
//   omplrun -n 2 tasklet_lu [TILES] [TILE_SIZE] [THREADS]
#include "kernels.hpp"
#include "tiles.hpp"

#include <algorithm>
#include <numeric>

namespace {

using namespace omnipgas::tasklet;
using tiles::make;
using Matrix = tiles::Matrix<double>;

// Whether a rank owns a tile of row i right of column k, or of column j below row k.
bool in_row(const Matrix& a, int i, int k, uint32_t rank) {
  for (int j = k + 1; j < a.count(); ++j)
    if (a.owner(i, j) == rank) return true;
  return false;
}
bool in_column(const Matrix& a, int j, int k, uint32_t rank) {
  for (int i = k + 1; i < a.count(); ++i)
    if (a.owner(i, j) == rank) return true;
  return false;
}

int factorize(void* matrix) {
  const Matrix& a = *static_cast<const Matrix*>(matrix);
  const int count = a.count(), n = a.size();
  const auto tag = [count](int i, int j) { return static_cast<uint32_t>(i * count + j); };
  for (int k = 0; k < count; ++k) {
    double* const diagonal = a.tile(k, k);
    const auto factor = [=] { return kernels::lu(diagonal, n) ? 0 : int{OMPL_ERR_ARG}; };
    if (a.own(k, k)) make(factor, {inout(diagonal)}, 3);
    a.share(k, k, tag(k, k),
            [&a, k](uint32_t rank) { return in_row(a, k, k, rank) || in_column(a, k, k, rank); });
    for (int other = k + 1; other < count; ++other) {
      double *const below = a.tile(other, k), *const right = a.tile(k, other);
      const auto column = [=] { return kernels::solve_upper(diagonal, below, n), 0; };
      if (a.own(other, k)) make(column, {in(diagonal), inout(below)}, 1);
      a.share(other, k, tag(other, k),
              [&a, other, k](uint32_t rank) { return in_row(a, other, k, rank); });
      const auto row = [=] { return kernels::solve_lower(diagonal, right, n), 0; };
      if (a.own(k, other)) make(row, {in(diagonal), inout(right)}, 1);
      a.share(k, other, tag(k, other),
              [&a, other, k](uint32_t rank) { return in_column(a, other, k, rank); });
    }
    for (int i = k + 1; i < count; ++i)
      for (int j = k + 1; j < count; ++j) {
        double *const left = a.tile(i, k), *const above = a.tile(k, j), *const to = a.tile(i, j);
        const auto update = [=] { return kernels::update(left, above, to, n), 0; };
        if (a.own(i, j)) make(update, {in(left), in(above), inout(to)});
      }
  }
  return ompl_tasklet_wait_all();
}

// max |A - L U| / max |A|, at one rank.
double residual(const Matrix& a) {
  const std::vector<double> both = a.whole();
  const auto rows = static_cast<std::size_t>(a.rows());
  std::vector<double> upper(both.size());  // by columns
  for (std::size_t i = 0; i < both.size(); ++i) upper[i % rows * rows + i / rows] = both[i];
  double worst = 0;
  for (int row = 0; row < a.rows(); ++row)
    for (int column = 0; column < a.rows(); ++column) {
      const double *const left = &both[static_cast<std::size_t>(row) * rows],
                          *const right = &upper[static_cast<std::size_t>(column) * rows];
      const double own = row <= column ? right[row] : 0;  // the diagonal of L is 1
      const double sum = std::inner_product(left, left + std::min(row, column + 1), right, own);
      worst = std::max(worst, std::abs(kernels::uneven_entry(a.rows(), row, column) - sum));
    }
  return worst / kernels::uneven_entry(a.rows(), 0, 0);
}

bool is_right(const Matrix& a, double seconds) {
  return tiles::is_small(residual(a), a.rows(), seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return tiles::run<double>({16, 1, kernels::uneven_entry, factorize, is_right}, argc, argv);
}
