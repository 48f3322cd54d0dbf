// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "solver/cg/team.hpp"

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
  // f(first, size) of every block of rows gives N values; their sums, added in the order of the blocks.
  template <std::size_t N, class F>
  std::array<double, N> sums_of_blocks(const F& f);

 private:
  template <class F>
  void for_each_block(const F& f);
  template <class F>
  double sum_of_blocks(const F& f);

  Team& team_;
  const uint32_t size_;
  std::vector<double> partial_;
};

// f(block, first, size): the block's rows.
template <class F>
void Vectors::for_each_block(const F& f) {
  team_.for_blocks(0, blocks_of(size_), [&](uint32_t block, uint32_t) {
    const uint32_t first = block * kBlock;
    f(block, first, std::min(kBlock, size_ - first));
  });
}

template <std::size_t N, class F>
std::array<double, N> Vectors::sums_of_blocks(const F& f) {
  const std::size_t blocks = blocks_of(size_);
  partial_.resize(N * blocks);
  for_each_block([&](uint32_t block, uint32_t first, uint32_t size) {
    const std::array<double, N> values = f(first, size);
    for (std::size_t i = 0; i < N; ++i) partial_[i * blocks + block] = values[i];
  });
  std::array<double, N> sums{};
  for (std::size_t i = 0; i < N; ++i)
    sums[i] = sum_in_order(std::span(partial_).subspan(i * blocks, blocks));
  return sums;
}

}  // namespace ompl::solver
