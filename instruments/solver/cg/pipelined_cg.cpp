// SPDX-License-Identifier: BSD-3-Clause
// Pipelined conjugate gradients (P. Ghysels and W. Vanroose, "Hiding global synchronization latency in the preconditioned
// conjugate gradient algorithm", Parallel Computing 40, 2014: algorithm 4, and 3 without a preconditioner). One sum an
// iteration, of r . u, w . u and r . r, behind M^-1 w and A m. By recurrence u stands for M^-1 r, w for A u, s for A p,
// q for M^-1 s, z for A q; without a preconditioner u is r, m is w, q is s.
//
// Roundings of these recurrences add up, more than those of plain CG do: the residual by recurrence parts from b - A x.
// So they are computed anew every replace_every iterations: residual replacement, here at a fixed period. (S. Cools, E. F.
// Yetkin, E. Agullo, L. Giraud and W. Vanroose, SIAM J. Matrix Anal. Appl. 39, 2018, analyse it and choose when by an estimate.)
#include <array>

#include "solver/cg/recurrence.hpp"

namespace ompl::solver {

namespace {

class Pipelined : Recurrence {
 public:
  Pipelined(const System& system, OverlappedReduction& reduction)
      : Recurrence(system), reduction_(reduction), replace_every_(system.options.replace_every) {}

  CgResult run() {
    const double bb = norm_of_rhs();
    begin();
    bool more = iterate(bb);
    while (more) {
      if (replace_every_ > 0 && out_.iterations % replace_every_ == 0) replace();
      more = iterate(bb);
    }
    return end();
  }

 private:
  [[nodiscard]] std::vector<double>& u() { return preconditioned() ? u_ : r_; }
  [[nodiscard]] std::vector<double>& m() { return preconditioned() ? m_ : w_; }
  [[nodiscard]] std::vector<double>& q() { return preconditioned() ? q_ : s_; }

  // r = b - A x, u = M^-1 r, w = A u.
  void begin() {
    const double rr = residual(r_.data());
    const double gamma = preconditioned() ? precondition(r_.data(), u_.data()) : rr;
    mine_ = {gamma, product(u().data(), w_.data()), rr};
  }

  // These, and s = A p, q = M^-1 s, z = A q.
  void replace() {
    begin();
    product(p_.data(), s_.data());
    if (preconditioned()) precondition(s_.data(), q_.data());
    product(q().data(), z_.data());
  }

  bool iterate(double bb_here) {
    start(reduction_, std::array{mine_[0], mine_[1], mine_[2], bb_here});
    if (preconditioned()) precondition(w_.data(), m_.data());
    product(m().data(), n_.data());
    const auto sums = wait(reduction_);
    const double gamma = sums[0], delta = sums[1];
    const bool first = out_.iterations == 0;
    if (!goes_on(first ? note_rhs(sums[3], sums[2]) : sums[2], gamma)) return false;

    const double beta = first ? 0 : gamma / gamma_;
    const double p_ap = first ? delta : delta - beta * gamma / alpha_;
    if (!is_curved(p_ap)) return false;
    alpha_ = gamma / p_ap;
    gamma_ = gamma;
    step(beta);
    ++out_.iterations;
    return true;
  }

  // z = n + beta z, q = m + beta q, s = w + beta s, p = u + beta p; then x += alpha p, r -= alpha s, u -= alpha q,
  // w -= alpha z; this rank's parts of r . u, w . u, r . r.
  void step(double beta) {
    const double alpha = alpha_;
    const bool preconditioned = this->preconditioned();
    double *const x = x_.data(), *const r = r_.data(), *const u = this->u().data();
    double *const w = w_.data(), *const z = z_.data(), *const s = s_.data();
    double *const p = p_.data(), *const q = q_.data();
    const double *const n = n_.data(), *const m = m_.data();
    mine_ = vectors_.sums_of_blocks<3>([&](uint32_t first, uint32_t size) {
      const uint32_t end = first + size;
      for (uint32_t i = first; i < end; ++i) {
        z[i] = n[i] + beta * z[i];
        s[i] = w[i] + beta * s[i];
        p[i] = u[i] + beta * p[i];
        x[i] += alpha * p[i];
      }
      for (uint32_t i = first; preconditioned && i < end; ++i) {
        q[i] = m[i] + beta * q[i];
        u[i] -= alpha * q[i];
      }
      for (uint32_t i = first; i < end; ++i) {
        r[i] -= alpha * s[i];
        w[i] -= alpha * z[i];
      }
      return std::array{block_dot(r + first, u + first, size), block_dot(w + first, u + first, size),
                        block_dot(r + first, r + first, size)};
    });
    note_vectors();
  }

  OverlappedReduction& reduction_;
  const uint32_t replace_every_;
  std::vector<double> r_ = vector(), w_ = vector(), n_ = vector(), z_ = vector(), s_ = vector(),
                      p_ = vector(), u_ = vector_if_preconditioned(), m_ = vector_if_preconditioned(),
                      q_ = vector_if_preconditioned();
  std::array<double, 3> mine_{};  // this rank's parts of r . u, w . u, r . r
  double gamma_ = 0, alpha_ = 0;  // of the iteration before
};

}  // namespace

CgResult pipelined_cg(Operator& a, Preconditioner* preconditioner, OverlappedReduction& reduction,
                      Team& team, std::span<const double> b, std::span<double> x,
                      const CgOptions& options) {
  return Pipelined({a, preconditioner, team, b, x, options}, reduction).run();
}

}  // namespace ompl::solver
