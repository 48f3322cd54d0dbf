// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <vector>

#include "solver/cg/vectors.hpp"
#include "solver/matrix/csr.hpp"

namespace ompl::solver {

// z = M^-1 r on this rank's rows, M symmetric and positive definite; returns r . z over them.
class Preconditioner {
 public:
  virtual ~Preconditioner() = default;
  virtual double apply(const double* r, double* z) = 0;
};

// M: the diagonal. Throws InputError where it is not above 0.
class Jacobi final : public Preconditioner {
 public:
  Jacobi(const Csr& own, Team& team);
  double apply(const double* r, double* z) override;

 private:
  Team& team_;
  std::vector<double> inverse_, partial_;
};

// M: incomplete factors without fill, ILU(0), of blocks on the diagonal, couplings between blocks left out. Rows are
// factored in the matrix's order, however they are kept: fill that is left out, and so the iterations, depend on it.
// The number of blocks decides about the iterations, not the number of threads; only as many threads as blocks have
// work.
class BlockJacobi final : public Preconditioner {
 public:
  // global: for each row, which of the matrix it is; empty: they are in its order. Throws InputError for 0 blocks or
  // fewer rows than blocks, and where a pivot is not above 0.
  BlockJacobi(const Csr& own, uint32_t blocks, Team& team, std::span<const uint32_t> global = {});
  double apply(const double* r, double* z) override;

 private:
  void take_block(const Csr& own, std::span<const uint32_t> place, uint32_t first, uint32_t last);
  void factor(uint32_t first, uint32_t last);
  void solve(uint32_t first, uint32_t last, const double* r, double* z);

  Team& team_;
  Vectors vectors_;
  std::vector<uint32_t> row_;       // for each row of the factors, which of `own` it is
  std::vector<double> solution_;    // of the factors, in their order
  std::vector<uint32_t> bounds_;    // of the blocks
  Csr factors_;                     // L without its diagonal of 1, and U, in one
  std::vector<uint64_t> diagonal_;  // of each row, in factors_
};

}  // namespace ompl::solver
