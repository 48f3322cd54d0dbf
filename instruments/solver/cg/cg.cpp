// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients as M. R. Hestenes and E. Stiefel, "Methods of conjugate gradients for solving linear systems" (1952),
// have them, with a preconditioner: two sums an iteration, for each of which all ranks wait.
#include "solver/cg/cg.hpp"

#include <array>
#include <cmath>

#include "solver/cg/recurrence.hpp"

namespace ompl::solver {

namespace {

class HestenesStiefel : Recurrence {
 public:
  HestenesStiefel(const System& system, Reduction& reduction)
      : Recurrence(system), reduction_(reduction) {}

  CgResult run() {
    bool more = begin();
    while (more) more = iterate();
    return end();
  }

 private:
  [[nodiscard]] const std::vector<double>& z() const { return preconditioned() ? z_ : r_; }
  // z = M^-1 r; this rank's part of r . z.
  double apply_preconditioner(double rr) {
    return preconditioned() ? precondition(r_.data(), z_.data()) : rr;
  }

  bool begin() {
    const double rr = residual(r_.data());
    std::array sums{apply_preconditioner(rr), rr, norm_of_rhs()};
    sum(reduction_, sums);
    p_ = z();
    rz_ = sums[0];
    return goes_on(note_rhs(sums[2], sums[1]), rz_);
  }

  bool iterate() {
    std::array pq{product(p_.data(), q_.data())};
    sum(reduction_, pq);
    if (!is_curved(pq[0])) return false;
    const double alpha = rz_ / pq[0];
    const double rr = vectors_.residual_step(alpha, q_.data(), r_.data());
    note_vectors();
    std::array sums{apply_preconditioner(rr), rr};
    sum(reduction_, sums);
    const double beta = sums[0] / rz_;
    rz_ = sums[0];
    ++out_.iterations;
    const bool more = goes_on(sums[1], rz_);
    if (more)
      vectors_.direction_step(alpha, beta, z().data(), x_.data(), p_.data());
    else
      vectors_.solution_step(alpha, p_.data(), x_.data());
    note_vectors();
    return more;
  }

  Reduction& reduction_;
  std::vector<double> r_ = vector(), p_ = vector(), q_ = vector(), z_ = vector_if_preconditioned();
  double rz_ = 0;
};

}  // namespace

std::string_view reason(Stop stop) {
  constexpr std::array<std::string_view, 6> kReasons{
      "converged",
      "the most iterations are done",
      "the matrix is not positive definite: p . A p is not above 0",
      "the preconditioner is not positive definite: r . M^-1 r is not above 0",
      "a residual is not a finite number",
      "asked to stop"};
  return kReasons[static_cast<std::size_t>(stop)];
}

CgResult cg(Operator& a, Preconditioner* preconditioner, Reduction& reduction, Team& team,
            std::span<const double> b, std::span<double> x, const CgOptions& options) {
  return HestenesStiefel({a, preconditioner, team, b, x, options}, reduction).run();
}

double true_relative_residual(Operator& a, Reduction& reduction, Team& team, std::span<const double> b,
                              std::span<const double> x) {
  check_sizes(a, b, x);
  Vectors vectors(team, a.size());
  std::vector<double> q(a.size());
  a.apply(x.data(), q.data());
  std::array sums{vectors.dot(b.data(), b.data()), vectors.residual(b.data(), q.data(), q.data())};
  reduction.sum(sums);
  return sums[1] == 0 ? 0 : std::sqrt(sums[1] / sums[0]);
}

}  // namespace ompl::solver
