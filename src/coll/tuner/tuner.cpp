// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tuner/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ompl::coll {
namespace {

constexpr double kMostAbove =
    Tuner::kMostRegret / (1 - Tuner::kMostRegret);  // of what the best one took
constexpr std::size_t kRemembered = 8;              // runs of a candidate
constexpr uint32_t kTrialCalls = 3;                 // of a run: one disturbed call does no harm
constexpr double kEnough = 1.2;  // runs for a candidate that takes twice as long as the best
constexpr double kMostOnTrials =
    0.02;  // of the run's time, above the best known; also of kHorizon calls
constexpr double kMostOnLooks = 0.03;  // the same, of the time so far
constexpr double kLeastPrice = 0.05;   // of the best one's time: of a look, where looks are shared out
constexpr double kClearlyBetter = 0.97;  // of the best one's time: worth a change
constexpr double kChanged = 0.95;        // of the best one's time: what was known holds no more
constexpr double kDrift = 1.25;          // times what the best one took, or the inverse
constexpr std::size_t kSteadyRuns = 4;   // of the best one in an epoch
constexpr uint64_t kShortestEpoch = 16;  // calls
constexpr uint64_t kLongestEpoch = 512;  // calls
constexpr uint64_t kEpochsPerAge = 8;    // an epoch is as long as this part of the calls so far

}  // namespace

void Epoch::note(double seconds) {
  noted_.push_back(seconds);
  if (noted_.size() < plan_[run_].calls) return;
  times_.push_back(lower_median(std::move(noted_)));
  noted_.clear();
  ++run_;
}

double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

Tuner::Tuner(uint32_t candidates, bool careful)
    : seen_(candidates), first_look_(careful ? kTrialCalls : 1) {
  plan_ = trials();
}

void Tuner::recall(std::span<const double> times) {
  for (uint32_t c = 0; c < seen_.size(); ++c)
    if (times[c] > 0) seen_[c].times.assign(kRemembered, times[c]);
  choose();
  make_plan();
}

// A look at what is new is a plan of its own; trials have a run of each candidate at most.
std::size_t Tuner::most_runs() const { return std::max(seen_.size(), kSteadyRuns + 1); }

std::size_t Tuner::most_calls() const {
  return std::max(seen_.size() * kTrialCalls, kLongestEpoch + kTrialCalls);
}

double Tuner::estimate(uint32_t candidate) const {
  const std::vector<double>& times = seen_[candidate].times;
  return times.empty() ? 0 : lower_median(times);
}

void Tuner::learn(std::span<const double> times) {
  ++epoch_;
  const double before = estimate(best_);
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    calls_ += plan_[i].calls;
    if (times[i] > 0) add(plan_[i].candidate, times[i]);
  }
  if (settled_) follow(estimate(best_) / before);
  choose();
  account(times);
  if (settled_) look_for_drift();
  make_plan();
}

void Tuner::make_plan() {
  plan_ = trials();
  settled_ = plan_.empty();
  if (!settled_) return;
  plan_ = steady();
  for (Seen& seen : seen_) seen.as_best = 0;
}

void Tuner::add(uint32_t candidate, double seconds) {
  Seen& seen = seen_[candidate];
  const bool better = settled_ && candidate != best_ && seconds < kChanged * estimate(best_);
  if (better) seen.times.clear();
  if (seen.times.size() == kRemembered) seen.times.erase(seen.times.begin());
  seen.times.push_back(seconds);
  seen.epoch = epoch_;
}

// Others are seen seldom: what slowed the best one down since is taken to have slowed them down too.
void Tuner::follow(double change) {
  for (uint32_t c = 0; c < seen_.size(); ++c) {
    if (c == best_ || seen_[c].epoch == epoch_) continue;
    for (double& time : seen_[c].times) time *= change;
  }
}

void Tuner::choose() {
  const uint32_t before = best_;
  const double margin = settled_ ? kClearlyBetter : 1;
  for (uint32_t c = 0; c < seen_.size(); ++c) {
    const bool known = seen_[c].times.size() > (settled_ ? 1 : 0);
    if (known && (estimate(best_) == 0 || estimate(c) < margin * estimate(best_))) best_ = c;
  }
  if (best_ == before && settled_) return;
  reference_ = estimate(best_);
  if (settled_) return;  // it is another machine now, on which the one before was the best
  spent_ += seen_[before].as_best * std::max(0.0, estimate(before) - estimate(best_));
  if (best_ != before) seen_[before].as_best = 0;
}

void Tuner::account(std::span<const double> times) {
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (!(times[i] > 0)) continue;
    const uint32_t c = plan_[i].candidate;
    total_ += plan_[i].calls * times[i];
    if (c == best_) {
      if (!settled_) seen_[c].as_best += plan_[i].calls;
      continue;
    }
    const double above = plan_[i].calls * std::max(0.0, times[i] - estimate(best_));
    spent_ += above;
    if (settled_)
      spent_on_looks_ += above;
    else if (seen_[c].times.size() > 1)
      spent_on_trials_ += above;
  }
}

// Where the best one alone has changed, the others have to be compared with it again.
void Tuner::look_for_drift() {
  std::vector<double>& times = seen_[best_].times;
  if (times.size() < kSteadyRuns) return;
  const std::vector<double> last(times.end() - kSteadyRuns, times.end());
  const double ratio = lower_median(last) / reference_;
  if (ratio < kDrift && ratio > 1 / kDrift) return;
  for (uint32_t c = 0; c < seen_.size(); ++c)
    if (c != best_ && estimate(c) > 0) seen_[c].times = {estimate(c)};
  times = last;
  reference_ = estimate(best_);
}

Plan Tuner::trials() const {
  const bool anything_new =
      spent_ <= kMostAbove * std::max(total_ - spent_, kHorizon * estimate(best_));
  const double most = kMostOnTrials * std::max(total_, kHorizon * estimate(best_));
  Plan plan;
  double planned = spent_on_trials_;
  for (const uint32_t c : by_estimate()) {
    if (seen_[c].times.empty()) {
      if (anything_new) return {{.candidate = c, .calls = first_look_}};
      continue;
    }
    if (c == best_ || runs_to_compare(c) >= runs_wanted(c)) continue;
    const uint32_t calls = seen_[c].times.size() == 1 ? first_look_ : kTrialCalls;
    if (planned + price(c, calls) > most) continue;
    planned += price(c, calls);
    plan.push_back({.candidate = c, .calls = calls});
  }
  if (!plan.empty()) plan.insert(plan.begin(), {.candidate = best_, .calls = kTrialCalls});
  return plan;
}

Plan Tuner::steady() const {
  const uint64_t calls = std::clamp(calls_ / kEpochsPerAge, kShortestEpoch, kLongestEpoch);
  Plan plan(kSteadyRuns, {.candidate = best_, .calls = static_cast<uint32_t>(calls / kSteadyRuns)});
  const double most =
      std::min(kMostOnLooks * total_ - spent_on_looks_, kMostAbove * (total_ - spent_) - spent_);
  uint32_t chosen = best_;
  double longest = 0;  // not looked at, in proportion to the price
  for (uint32_t c = 0; c < seen_.size(); ++c) {
    const double costs = price(c, kTrialCalls);
    if (c == best_ || seen_[c].times.empty() || costs > most) continue;
    const double least = kTrialCalls * kLeastPrice * estimate(best_);
    const double waited = static_cast<double>(epoch_ + 1 - seen_[c].epoch) / std::max(costs, least);
    if (waited <= longest) continue;
    longest = waited;
    chosen = c;
  }
  if (chosen != best_) plan.push_back({.candidate = chosen, .calls = kTrialCalls});
  return plan;
}

// Those that were not seen yet first, in the order in which they were given.
std::vector<uint32_t> Tuner::by_estimate() const {
  std::vector<uint32_t> order(seen_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [this](uint32_t c) { return estimate(c); });
  return order;
}

std::size_t Tuner::runs_to_compare(uint32_t candidate) const {
  return std::min(seen_[candidate].times.size(), seen_[best_].times.size());
}

// The nearer it is to the best one, the more runs it takes to tell them apart, and the less they cost.
std::size_t Tuner::runs_wanted(uint32_t candidate) const {
  const double above = estimate(candidate) / estimate(best_) - 1;
  if (above * kRemembered <= kEnough) return kRemembered;
  return std::max<std::size_t>(2, static_cast<std::size_t>(std::ceil(kEnough / above)));
}

double Tuner::price(uint32_t candidate, uint32_t calls) const {
  return calls * std::max(0.0, estimate(candidate) - estimate(best_));
}

}  // namespace ompl::coll
