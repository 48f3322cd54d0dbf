// SPDX-License-Identifier: BSD-3-Clause
#include "solver/cg.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "tools/input_error.hpp"

namespace ompl::solver {

namespace {

// Adds the seconds since it was last asked to where they were spent.
class Stopwatch {
 public:
  void lap(double& to) {
    const auto now = std::chrono::steady_clock::now();
    to += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void check(const Operator& a, std::span<const double> b, std::span<const double> x) {
  if (b.size() != a.size() || x.size() != a.size())
    refuse("the matrix has {} rows here, the right-hand side {} and the solution {}", a.size(),
           b.size(), x.size());
}

class Solve {
 public:
  Solve(Operator& a, Preconditioner* preconditioner, Reduction& reduction, Team& team,
        std::span<const double> b, std::span<double> x, const CgOptions& options)
      : a_(a),
        preconditioner_(preconditioner),
        reduction_(reduction),
        vectors_(team, a.size()),
        options_(options),
        b_(b.data()),
        x_(x),
        r_(a.size()),
        p_(a.size()),
        q_(a.size()),
        z_(preconditioner != nullptr ? a.size() : 0) {}

  CgResult run() {
    const double wait_before = a_.wait_seconds();
    begin();
    while (!finished()) iterate();
    out_.seconds.halo_wait = a_.wait_seconds() - wait_before;
    out_.seconds.product -= out_.seconds.halo_wait;
    return std::move(out_);
  }

 private:
  [[nodiscard]] const double* z() const { return preconditioner_ != nullptr ? z_.data() : r_.data(); }

  double sum(double value) { return sum(std::array{value})[0]; }
  template <std::size_t N>
  std::array<double, N> sum(std::array<double, N> values) {
    reduction_.sum(values);
    watch_.lap(out_.seconds.reduction);
    return values;
  }

  // Takes the new |r|^2 of this rank; returns r . M^-1 r.
  double precondition(double rr_here) {
    if (preconditioner_ == nullptr) return rr_ = sum(rr_here);
    const double rz_here = preconditioner_->apply(r_.data(), z_.data());
    watch_.lap(out_.seconds.preconditioner);
    const auto [rr, rz] = sum(std::array{rr_here, rz_here});
    rr_ = rr;
    return rz;
  }

  void begin() {
    a_.apply(x_.data(), q_.data());
    watch_.lap(out_.seconds.product);
    const double bb_here = vectors_.dot(b_, b_);
    const double rr_here = vectors_.residual(b_, q_.data(), r_.data());
    watch_.lap(out_.seconds.vectors);
    bb_ = sum(bb_here);
    rz_ = precondition(rr_here);
    std::copy_n(z(), p_.size(), p_.data());
    if (bb_ == 0) {
      std::ranges::fill(x_, 0.0);
      rr_ = 0;
    }
    watch_.lap(out_.seconds.vectors);
    note_residual();
  }

  void note_residual() { out_.history.push_back(rr_ == 0 ? 0 : std::sqrt(rr_ / bb_)); }

  void stop(Stop why) {
    out_.stop = why;
    stopped_ = true;
  }

  bool finished() {
    if (stopped_) return true;
    const double residual = out_.history.back();
    if (!std::isfinite(residual))
      stop(Stop::not_finite);
    else if (residual <= options_.tolerance)
      stop(Stop::converged);
    else if (out_.iterations >= options_.max_iterations)
      stop(Stop::iterations);
    else if (!(rz_ > 0))
      stop(std::isnan(rz_) ? Stop::not_finite : Stop::indefinite_preconditioner);
    return stopped_;
  }

  void iterate() {
    const double pq_here = a_.apply(p_.data(), q_.data());
    watch_.lap(out_.seconds.product);
    const double pq = sum(pq_here);
    if (!(pq > 0) || !std::isfinite(pq))
      return stop(std::isfinite(pq) ? Stop::negative_curvature : Stop::not_finite);
    const double alpha = rz_ / pq;
    const double rr_here = vectors_.residual_step(alpha, q_.data(), r_.data());
    watch_.lap(out_.seconds.vectors);
    const double rz = precondition(rr_here);
    const double beta = rz / rz_;
    rz_ = rz;
    ++out_.iterations;
    note_residual();
    const bool go_on = !options_.progress || options_.progress(out_.iterations, out_.history.back());
    if (!finished() && !go_on) stop(Stop::asked);
    if (stopped_)
      vectors_.solution_step(alpha, p_.data(), x_.data());
    else
      vectors_.direction_step(alpha, beta, z(), x_.data(), p_.data());
    watch_.lap(out_.seconds.vectors);
  }

  Operator& a_;
  Preconditioner* const preconditioner_;
  Reduction& reduction_;
  Vectors vectors_;
  const CgOptions& options_;
  const double* const b_;
  const std::span<double> x_;
  std::vector<double> r_, p_, q_, z_;
  double bb_ = 0, rr_ = 0, rz_ = 0;
  bool stopped_ = false;
  Stopwatch watch_;
  CgResult out_;
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
  check(a, b, x);
  if (!(options.tolerance >= 0 && options.tolerance < 1))
    refuse("a tolerance of {}; it must be from 0 to below 1", options.tolerance);
  return Solve(a, preconditioner, reduction, team, b, x, options).run();
}

double true_relative_residual(Operator& a, Reduction& reduction, Team& team, std::span<const double> b,
                              std::span<const double> x) {
  check(a, b, x);
  Vectors vectors(team, a.size());
  std::vector<double> q(a.size());
  a.apply(x.data(), q.data());
  std::array sums{vectors.dot(b.data(), b.data()), vectors.residual(b.data(), q.data(), q.data())};
  reduction.sum(sums);
  return sums[1] == 0 ? 0 : std::sqrt(sums[1] / sums[0]);
}

}  // namespace ompl::solver
