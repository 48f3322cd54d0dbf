// SPDX-License-Identifier: BSD-3-Clause
// Gropp's asynchronous conjugate gradients (P. R. Eller and W. Gropp, "Scalable non-blocking preconditioned conjugate
// gradient methods", SC 2016). Two sums an iteration: p . s behind M^-1 s, r . z behind A z.
// s stands for A p and q for M^-1 s, by recurrence. Without a preconditioner z is r and q is s, and nothing hides p . s.
#include <array>

#include "solver/cg/recurrence.hpp"

namespace ompl::solver {

namespace {

class Gropp : Recurrence {
 public:
  Gropp(const System& system, OverlappedReduction& reduction)
      : Recurrence(system), reduction_(reduction) {}

  CgResult run() {
    bool more = begin();
    while (more) more = iterate();
    return end();
  }

 private:
  [[nodiscard]] const std::vector<double>& z() const { return preconditioned() ? z_ : r_; }

  bool begin() {
    const double rr = residual(r_.data());
    const double gamma = preconditioned() ? precondition(r_.data(), z_.data()) : rr;
    start(reduction_, std::array{gamma, rr, norm_of_rhs()});
    p_ = z();
    note_vectors();
    delta_ = product(p_.data(), s_.data());
    const auto sums = wait(reduction_);
    gamma_ = sums[0];
    return goes_on(note_rhs(sums[2], sums[1]), gamma_);
  }

  bool iterate() {
    start(reduction_, std::array{delta_});
    if (preconditioned()) precondition(s_.data(), q_.data());
    const double delta = wait(reduction_)[0];
    if (!is_curved(delta)) return false;

    start(reduction_, solution_step(gamma_ / delta));
    product(z().data(), w_.data());
    const auto sums = wait(reduction_);
    const double beta = sums[0] / gamma_;
    gamma_ = sums[0];
    ++out_.iterations;
    if (!goes_on(sums[1], gamma_)) return false;

    delta_ = direction_step(beta);
    return true;
  }

  // x += alpha p, r -= alpha s, z -= alpha q; this rank's parts of r . z and r . r.
  std::array<double, 2> solution_step(double alpha) {
    double *const x = x_.data(), *const r = r_.data(), *const z = z_.data();
    const double *const p = p_.data(), *const s = s_.data(), *const q = q_.data();
    const auto sums = vectors_.sums_of_blocks<2>([&](uint32_t first, uint32_t size) {
      for (uint32_t i = first; i < first + size; ++i) {
        x[i] += alpha * p[i];
        r[i] -= alpha * s[i];
      }
      const double rr = block_dot(r + first, r + first, size);
      if (!preconditioned()) return std::array{rr, rr};
      for (uint32_t i = first; i < first + size; ++i) z[i] -= alpha * q[i];
      return std::array{block_dot(r + first, z + first, size), rr};
    });
    note_vectors();
    return sums;
  }

  // p = z + beta p, s = w + beta s; this rank's part of p . s.
  double direction_step(double beta) {
    double *const p = p_.data(), *const s = s_.data();
    const double *const z = this->z().data(), *const w = w_.data();
    const auto sums = vectors_.sums_of_blocks<1>([&](uint32_t first, uint32_t size) {
      for (uint32_t i = first; i < first + size; ++i) {
        p[i] = z[i] + beta * p[i];
        s[i] = w[i] + beta * s[i];
      }
      return std::array{block_dot(p + first, s + first, size)};
    });
    note_vectors();
    return sums[0];
  }

  OverlappedReduction& reduction_;
  std::vector<double> r_ = vector(), p_ = vector(), s_ = vector(), w_ = vector(),
                      z_ = vector_if_preconditioned(), q_ = vector_if_preconditioned();
  double gamma_ = 0;  // r . z
  double delta_ = 0;  // this rank's part of p . s
};

}  // namespace

CgResult gropp_cg(Operator& a, Preconditioner* preconditioner, OverlappedReduction& reduction,
                  Team& team, std::span<const double> b, std::span<double> x,
                  const CgOptions& options) {
  return Gropp({a, preconditioner, team, b, x, options}, reduction).run();
}

}  // namespace ompl::solver
