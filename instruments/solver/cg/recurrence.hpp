// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "solver/cg/cg.hpp"
#include "solver/cg/vectors.hpp"
#include "solver/matrix/csr.hpp"

namespace ompl::solver {

// Throws InputError if these are not as many as the operator has rows.
void check_sizes(const Operator& a, std::span<const double> b, std::span<const double> x);

// Adds the seconds since it was last asked to where they were spent.
class Stopwatch {
 public:
  void lap(double& to);

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// What is solved, A x = b with a preconditioner M or none, and how.
struct System {
  Operator& a;
  Preconditioner* preconditioner;
  Team& team;
  std::span<const double> b;
  std::span<double> x;
  const CgOptions& options;
};

// What the recurrences of conjugate gradients share: the system, steps whose seconds are noted, the history, and when and why it ends. What a step returns of a product in . out is this rank's part of it.
class Recurrence {
 protected:
  // Throws InputError for sizes that differ and a tolerance out of range.
  explicit Recurrence(const System& system);

  [[nodiscard]] bool preconditioned() const { return preconditioner_ != nullptr; }
  [[nodiscard]] std::vector<double> vector() const { return large_vector<double>(x_.size()); }
  // Without a preconditioner another one stands for it.
  [[nodiscard]] std::vector<double> vector_if_preconditioned() const {
    return large_vector<double>(preconditioned() ? x_.size() : 0);
  }

  // out = A in; in . out.
  double product(const double* in, double* out);
  // out = M^-1 in, with a preconditioner; in . out.
  double precondition(const double* in, double* out);
  // r = b - A x; r . r.
  double residual(double* r);
  double norm_of_rhs();  // b . b
  void note_vectors() { watch_.lap(out_.seconds.vectors); }

  // Sums over the ranks, at once or while they compute.
  void sum(Reduction& reduction, std::span<double> values);
  void start(OverlappedReduction& reduction, std::span<const double> values);
  [[nodiscard]] std::span<const double> wait(OverlappedReduction& reduction);

  // Before any iteration: b . b and r . r of all ranks. b = 0 is solved by x = 0. Returns r . r of the x that is now.
  double note_rhs(double bb, double rr);
  // Notes r . r after out_.iterations; whether to go on, given r . M^-1 r too.
  bool goes_on(double rr, double rz);
  // Whether p . A p is as it must be; else the solve is over.
  bool is_curved(double p_ap);
  CgResult end();

  const std::span<double> x_;
  Vectors vectors_;
  CgResult out_;

 private:
  bool stop(Stop why);  // false

  Operator& a_;
  Preconditioner* const preconditioner_;
  const CgOptions& options_;
  const double* const b_;
  const double wait_before_;
  double bb_ = 0;
  Stopwatch watch_;
};

}  // namespace ompl::solver
