// SPDX-License-Identifier: BSD-3-Clause
// Kernels on tiles of n x n elements, row by row, for factorizations; and the matrix that the examples factorize.
#pragma once

#include <cmath>

namespace kernels {

// Symmetric and diagonally dominant, so positive definite and in no need of pivots.
inline double entry(int rows, int row, int column) {
  return row == column ? 2.0 * rows : 1.0 / (1 + std::abs(row - column));
}

// The same, not symmetric.
inline double uneven_entry(int rows, int row, int column) {
  return row == column ? 2.0 * rows : 1.0 / (1 + std::abs(row - 2 * column));
}

// a := l, where a = l l^T; below the diagonal and on it. False: a is not positive definite.
inline bool cholesky(double* a, int n) {
  for (int j = 0; j < n; ++j) {
    for (int k = 0; k < j; ++k)
      for (int i = j; i < n; ++i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    if (!(a[j * n + j] > 0)) return false;
    const double root = std::sqrt(a[j * n + j]);
    for (int i = j; i < n; ++i) a[i * n + j] /= root;
  }
  return true;
}

// b := b l^-T
inline void solve_transposed(const double* l, double* b, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = b[i * n + j];
      for (int k = 0; k < j; ++k) sum -= b[i * n + k] * l[j * n + k];
      b[i * n + j] = sum / l[j * n + j];
    }
}

// c := c - a b^T
inline void update_transposed(const double* a, const double* b, double* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[j * n + k];
      c[i * n + j] -= sum;
    }
}

// a := l and u in one, where a = l u and the diagonal of l is 1. False: a pivot is 0.
inline bool lu(double* a, int n) {
  for (int k = 0; k < n; ++k) {
    if (!(std::abs(a[k * n + k]) > 0)) return false;
    for (int i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] /= a[k * n + k];
      for (int j = k + 1; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return true;
}

// b := l^-1 b, the diagonal of l being 1
inline void solve_lower(const double* l, double* b, int n) {
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < i; ++k)
      for (int j = 0; j < n; ++j) b[i * n + j] -= l[i * n + k] * b[k * n + j];
}

// b := b u^-1
inline void solve_upper(const double* u, double* b, int n) {
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) {
      const double factor = b[i * n + k] /= u[k * n + k];
      for (int j = k + 1; j < n; ++j) b[i * n + j] -= factor * u[k * n + j];
    }
}

// c := c - a b
inline void update(const double* a, const double* b, double* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) {
      const double factor = a[i * n + k];
      for (int j = 0; j < n; ++j) c[i * n + j] -= factor * b[k * n + j];
    }
}

}  // namespace kernels
