// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "solver/team.hpp"

namespace ompl::solver {

// The sum of a[i] * b[i] for `size` elements, in an order that depends on size alone.
[[nodiscard]] double block_dot(const double* a, const double* b, uint32_t size);

// Sums of blocks, added in the order of the blocks.
[[nodiscard]] double sum_in_order(std::span<const double> partial);

// The vector operations of CG on this rank's `size` rows, by all threads of the team. One call at a time.
class Vectors {
 public:
  Vectors(Team& team, uint32_t size) : team_(team), size_(size), partial_(blocks_of(size)) {}

  [[nodiscard]] double dot(const double* a, const double* b);
  // r = b - q; returns r . r.
  double residual(const double* b, const double* q, double* r);
  // r -= alpha q; returns r . r: 24 B per row.
  double residual_step(double alpha, const double* q, double* r);
  // x += alpha p, then p = z + beta p, so that p is read once for both: 40 B per row.
  void direction_step(double alpha, double beta, const double* z, double* x, double* p);
  // x += alpha p.
  void solution_step(double alpha, const double* p, double* x);

 private:
  template <class F>
  void for_each_block(const F& f);
  template <class F>
  double sum_of_blocks(const F& f);

  Team& team_;
  const uint32_t size_;
  std::vector<double> partial_;
};

}  // namespace ompl::solver
