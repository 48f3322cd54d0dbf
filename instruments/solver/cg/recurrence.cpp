// SPDX-License-Identifier: BSD-3-Clause
#include "solver/cg/recurrence.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/input_error.hpp"

namespace ompl::solver {

void check_sizes(const Operator& a, std::span<const double> b, std::span<const double> x) {
  if (b.size() != a.size() || x.size() != a.size())
    refuse("the matrix has {} rows here, the right-hand side {} and the solution {}", a.size(),
           b.size(), x.size());
}

void Stopwatch::lap(double& to) {
  const auto now = std::chrono::steady_clock::now();
  to += std::chrono::duration<double>(now - last_).count();
  last_ = now;
}

Recurrence::Recurrence(const System& system)
    : x_(system.x),
      vectors_(system.team, system.a.size()),
      a_(system.a),
      preconditioner_(system.preconditioner),
      options_(system.options),
      b_(system.b.data()),
      wait_before_(a_.wait_seconds()) {
  check_sizes(a_, system.b, x_);
  if (!(options_.tolerance >= 0 && options_.tolerance < 1))
    refuse("a tolerance of {}; it must be from 0 to below 1", options_.tolerance);
}

double Recurrence::product(const double* in, double* out) {
  const double dot = a_.apply(in, out);
  watch_.lap(out_.seconds.product);
  return dot;
}

double Recurrence::precondition(const double* in, double* out) {
  const double dot = preconditioner_->apply(in, out);
  watch_.lap(out_.seconds.preconditioner);
  return dot;
}

double Recurrence::residual(double* r) {
  product(x_.data(), r);
  const double rr = vectors_.residual(b_, r, r);
  note_vectors();
  return rr;
}

double Recurrence::norm_of_rhs() {
  const double bb = vectors_.dot(b_, b_);
  note_vectors();
  return bb;
}

void Recurrence::sum(Reduction& reduction, std::span<double> values) {
  reduction.sum(values);
  watch_.lap(out_.seconds.reduction);
  ++out_.reductions;
}

void Recurrence::start(OverlappedReduction& reduction, std::span<const double> values) {
  reduction.start(values);
  watch_.lap(out_.seconds.reduction);
  ++out_.reductions;
}

std::span<const double> Recurrence::wait(OverlappedReduction& reduction) {
  const std::span<const double> sums = reduction.wait();
  watch_.lap(out_.seconds.reduction);
  return sums;
}

double Recurrence::note_rhs(double bb, double rr) {
  bb_ = bb;
  if (bb != 0) return rr;
  std::ranges::fill(x_, 0.0);
  return 0;
}

bool Recurrence::stop(Stop why) {
  out_.stop = why;
  return false;
}

bool Recurrence::goes_on(double rr, double rz) {
  const double residual = rr == 0 ? 0 : std::sqrt(rr / bb_);
  out_.history.push_back(residual);
  const bool asked =
      out_.iterations > 0 && options_.progress && !options_.progress(out_.iterations, residual);
  if (!std::isfinite(residual)) return stop(Stop::not_finite);
  if (residual <= options_.tolerance) return stop(Stop::converged);
  if (out_.iterations >= options_.max_iterations) return stop(Stop::iterations);
  if (!(rz > 0)) return stop(std::isnan(rz) ? Stop::not_finite : Stop::indefinite_preconditioner);
  return asked ? stop(Stop::asked) : true;
}

bool Recurrence::is_curved(double p_ap) {
  if (!std::isfinite(p_ap)) return stop(Stop::not_finite);
  return p_ap > 0 ? true : stop(Stop::negative_curvature);
}

CgResult Recurrence::end() {
  out_.seconds.halo_wait = a_.wait_seconds() - wait_before_;
  out_.seconds.product -= out_.seconds.halo_wait;
  return std::move(out_);
}

}  // namespace ompl::solver
