// SPDX-License-Identifier: BSD-3-Clause
// Cholesky factorization of a symmetric matrix in tiles, as tasks over ranks: each kernel is a task that depends on its tiles, and a
// tile that is finished goes to each rank that needs it by a put, whose end a task there waits for. No rank ever waits as a whole.
//
//   omplrun -n 2 tasklet_cholesky [TILES] [TILE_SIZE] [THREADS]
#include "kernels.hpp"
#include "tiles.hpp"

#include <algorithm>
#include <numeric>

namespace {

using namespace omnipgas::tasklet;
using tiles::make;
using Matrix = tiles::Matrix<double>;

int factorize(void* matrix) {
  const Matrix& a = *static_cast<const Matrix*>(matrix);
  const int count = a.count(), n = a.size();
  const auto tag = [count](int i, int k) { return static_cast<uint32_t>(i * count + k); };
  for (int k = 0; k < count; ++k) {
    double* const diagonal = a.tile(k, k);
    if (a.own(k, k))
      make([=] { return kernels::cholesky(diagonal, n) ? 0 : int{OMPL_ERR_ARG}; }, {inout(diagonal)}, 3,
           "factorize");
    a.share(k, k, tag(k, k), [&a, k](uint32_t rank) {
      for (int i = k + 1; i < a.count(); ++i)
        if (a.owner(i, k) == rank) return true;
      return false;
    });
    for (int i = k + 1; i < count; ++i) {
      double* const below = a.tile(i, k);
      const auto solve = [=] { return kernels::solve_transposed(diagonal, below, n), 0; };
      if (a.own(i, k)) make(solve, {in(diagonal), inout(below)}, 1, "solve");
      a.share(i, k, tag(i, k), [&a, i, k](uint32_t rank) {
        for (int j = k + 1; j < a.count(); ++j)
          if (a.owner(std::max(i, j), std::min(i, j)) == rank) return true;
        return false;
      });
    }
    for (int i = k + 1; i < count; ++i)
      for (int j = k + 1; j <= i; ++j) {
        double *const left = a.tile(i, k), *const right = a.tile(j, k), *const to = a.tile(i, j);
        const auto update = [=] { return kernels::update_transposed(left, right, to, n), 0; };
        if (a.own(i, j)) make(update, {in(left), in(right), inout(to)}, 0, "update");
      }
  }
  return ompl_tasklet_wait_all();
}

// max |A - L L^T| / max |A| over the lower tiles, at one rank.
double residual(const Matrix& a) {
  const std::vector<double> lower = a.whole();
  double worst = 0;
  for (int row = 0; row < a.rows(); ++row)
    for (int column = 0; column <= row; ++column) {
      const double *const left = &lower[static_cast<std::size_t>(row * a.rows())],
                          *const right = &lower[static_cast<std::size_t>(column * a.rows())];
      const double sum = std::inner_product(left, left + column + 1, right, 0.0);
      worst = std::max(worst, std::abs(kernels::entry(a.rows(), row, column) - sum));
    }
  return worst / kernels::entry(a.rows(), 0, 0);
}

bool is_right(const Matrix& a, double seconds) {
  return tiles::is_small(residual(a), a.rows(), seconds);
}

}  // namespace

int main(int argc, char** argv) {
  return tiles::run<double>({16, 1, kernels::entry, factorize, is_right}, argc, argv);
}
