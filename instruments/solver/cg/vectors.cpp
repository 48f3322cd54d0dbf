// SPDX-License-Identifier: BSD-3-Clause
#include "solver/cg/vectors.hpp"

#include <numeric>

namespace ompl::solver {

double block_dot(const double* a, const double* b, uint32_t size) {
  constexpr uint32_t kLanes = 8;  // sums beside each other, as many on every machine
  double lane[kLanes] = {};
  uint32_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (uint32_t j = 0; j < kLanes; ++j) lane[j] += a[i + j] * b[i + j];
  for (uint32_t j = 0; i < size; ++i, ++j) lane[j] += a[i] * b[i];
  return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

double sum_in_order(std::span<const double> partial) {
  return std::accumulate(partial.begin(), partial.end(), 0.0);
}

template <class F>
double Vectors::sum_of_blocks(const F& f) {
  return sums_of_blocks<1>(
      [&](uint32_t first, uint32_t size) { return std::array{f(first, size)}; })[0];
}

double Vectors::dot(const double* a, const double* b) {
  return sum_of_blocks(
      [&](uint32_t first, uint32_t size) { return block_dot(a + first, b + first, size); });
}

double Vectors::residual(const double* b, const double* q, double* r) {
  return sum_of_blocks([&](uint32_t first, uint32_t size) {
    for (uint32_t i = first; i < first + size; ++i) r[i] = b[i] - q[i];
    return block_dot(r + first, r + first, size);
  });
}

double Vectors::residual_step(double alpha, const double* q, double* r) {
  return sum_of_blocks([&](uint32_t first, uint32_t size) {
    for (uint32_t i = first; i < first + size; ++i) r[i] -= alpha * q[i];
    return block_dot(r + first, r + first, size);
  });
}

void Vectors::direction_step(double alpha, double beta, const double* z, double* x, double* p) {
  for_each_block([&](uint32_t, uint32_t first, uint32_t size) {
    for (uint32_t i = first; i < first + size; ++i) {
      const double old = p[i];
      x[i] += alpha * old;
      p[i] = z[i] + beta * old;
    }
  });
}

void Vectors::solution_step(double alpha, const double* p, double* x) {
  for_each_block([&](uint32_t, uint32_t first, uint32_t size) {
    for (uint32_t i = first; i < first + size; ++i) x[i] += alpha * p[i];
  });
}

}  // namespace ompl::solver
