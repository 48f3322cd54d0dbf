// SPDX-License-Identifier: BSD-3-Clause
// The 27-point Poisson problem on 100^3, b = A * ones, on which five code bases agree: hand-written, PETSc, hypre, HPCG,
// AMGCL; PETSc's block-Jacobi ILU(0) of two ranks; and the partitions of the matrix.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "common/input_error.hpp"
#include "solver/cg/cg.hpp"
#include "solver/matrix/generate.hpp"
#include "solver/partition/partition.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

const Grid kGrid{{100, 100, 100}};

const Csr& matrix() {
  static const Csr kMatrix = generate(stencil_27(), kGrid);
  return kMatrix;
}

template <class Format>
CgResult solve(const Format& a, uint32_t ilu_blocks = 0) {
  Team team(2);
  NoExchange exchange;
  NoReduction reduction;
  const Coupling none;
  MatrixOperator<Format> op(a, none, a.rows, exchange, team);
  std::vector<double> ones(a.rows, 1.0), b(a.rows), x(a.rows);
  op.apply(ones.data(), b.data());
  std::unique_ptr<BlockJacobi> ilu;
  if (ilu_blocks > 0) ilu = std::make_unique<BlockJacobi>(matrix(), ilu_blocks, team);
  CgResult out = cg(op, ilu.get(), reduction, team, b, x);
  EXPECT_NEAR(true_relative_residual(op, reduction, team, b, x), out.relative_residual(), 1e-12);
  return out;
}

void expect_oracle(const CgResult& result) {
  EXPECT_EQ(result.stop, Stop::converged);
  EXPECT_EQ(result.iterations, 135U);
  ASSERT_EQ(result.history.size(), 136U);
  EXPECT_NEAR(result.history[20], 4.59e-02, 0.005e-02);
  EXPECT_NEAR(result.history[100], 1.82e-05, 0.005e-05);
  EXPECT_NEAR(result.history[135], 8.63e-09, 0.005e-09);
}

TEST(Oracle, ConjugateGradients) {
  EXPECT_EQ(matrix().entries(), 26463592U);
  const CgResult csr = solve(matrix());
  expect_oracle(csr);
  const CgResult sell = solve(to_sell(matrix()));
  expect_oracle(sell);
  EXPECT_EQ(csr.history, sell.history);
}

TEST(OracleLong, BlockJacobi) {
  const CgResult result = solve(to_sell(matrix()), 2);
  EXPECT_EQ(result.stop, Stop::converged);
  EXPECT_EQ(result.iterations, 81U);  // PETSc's, with two ranks
}

struct Expected {
  uint32_t parts;
  uint64_t halo, smallest_message;
  double neighbours_mean, interior_least;  // as rounded in the table
};

void expect_quality(const Partition& partition, const Expected& e) {
  const Quality q = quality(matrix(), partition);
  EXPECT_EQ(q.halo, e.halo) << e.parts;
  EXPECT_EQ(q.smallest_message, e.smallest_message) << e.parts;
  EXPECT_EQ(std::round(q.neighbours_mean), e.neighbours_mean) << e.parts;
  EXPECT_NEAR(q.interior_least, e.interior_least, 0.005) << e.parts;
}

// Where a cut lies between two planes, a message is a plane, 80,000 B: so it is at 2 parts and 100, and for some cuts
// at 8 and 32, where others lie within a plane (80,800 B) or a row of it (80,808 B).
TEST(Oracle, RowBlocks) {
  for (const Expected& e :
       {Expected{2, 20000, 80000, 1, 0.98}, Expected{8, 140800, 80000, 2, 0.84},
        Expected{32, 625632, 80000, 2, 0.35}, Expected{100, 1980000, 80000, 2, 0.0}}) {
    expect_quality(partition_rows(matrix().rows, e.parts), e);
  }
}

// METIS 5.1's, as Debian 12 has it.
TEST(OracleLong, Metis) {
  for (const Expected& e : {Expected{8, 80361, 2824, 5, 0.90}, Expected{100, 316845, 64, 10, 0.64}}) {
    Partition partition;
    try {
      partition = partition_metis(matrix(), e.parts, MetisWay::kway);
    } catch (const ompl::InputError& error) {
      GTEST_SKIP() << error.what();
    }
    expect_quality(partition, e);
  }
}

TEST(Oracle, Boxes) {
  const Quality q = quality(matrix(), partition_blocks(kGrid, 100));
  EXPECT_EQ(q.halo, 236384U);
  EXPECT_EQ(q.smallest_message, 8U);
  EXPECT_EQ(q.neighbours_most, 26U);
  EXPECT_EQ(std::round(q.neighbours_mean), 16);
  EXPECT_NEAR(q.interior_least, 0.75, 0.005);
}

}  // namespace
