// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tuner/tuner.hpp"

#include <algorithm>
#include <cmath>

namespace ompl::coll {
namespace {

constexpr std::size_t kRemembered = 8;  // runs of a candidate
constexpr uint32_t kTrialCalls = 3;  // of a run after the first look: one disturbed call does no harm
constexpr double kFar = 16;          // times the best: one look is enough
constexpr double kEnough = 1.2;      // runs for a candidate that takes twice as long as the best
constexpr double kMostLaterRegret = 0.02;  // of the run's time, once it was settled
constexpr double kClearlyBetter = 0.97;    // of the best one's time: worth a change
constexpr double kChanged =
    0.95;                        // of the best one's time: what was known of a candidate holds no more
constexpr double kDrift = 1.15;  // times what the best one took, or the inverse
constexpr std::size_t kSteadyRuns = 4;
constexpr uint64_t kShortestEpoch = 16;  // calls
constexpr uint64_t kLongestEpoch = 512;
constexpr uint64_t kEpochsPerAge = 8;  // an epoch is as long as this part of the calls so far

}  // namespace

Tuner::Tuner(uint32_t candidates) : seen_(candidates) { plan_ = trials(); }

double Tuner::estimate(uint32_t candidate) const {
  const std::vector<double>& times = seen_[candidate].times;
  return times.empty() ? 0 : lower_median(times);
}

void Tuner::learn(std::span<const double> times) {
  ++epoch_;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    calls_ += plan_[i].calls;
    if (times[i] > 0) add(plan_[i].candidate, times[i]);
  }
  choose();
  account(times);
  look_for_drift();
  plan_ = trials();
  settled_ = plan_.empty();
  explored_ = explored_ || settled_;
  if (settled_) plan_ = steady();
}

void Tuner::add(uint32_t candidate, double seconds) {
  Seen& seen = seen_[candidate];
  const bool better = settled_ && candidate != best_ && seconds < kChanged * estimate(best_);
  if (better) seen.times.clear();
  if (seen.times.size() == kRemembered) seen.times.erase(seen.times.begin());
  seen.times.push_back(seconds);
  seen.epoch = epoch_;
}

void Tuner::choose() {
  const uint32_t before = best_;
  const double margin = settled_ ? kClearlyBetter : 1;
  for (uint32_t c = 0; c < seen_.size(); ++c) {
    const bool known = estimate(c) > 0;
    if (known && (estimate(best_) == 0 || estimate(c) < margin * estimate(best_))) best_ = c;
  }
  if (best_ != before || !settled_) reference_ = estimate(best_);
}

void Tuner::account(std::span<const double> times) {
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (!(times[i] > 0)) continue;
    total_ += plan_[i].calls * times[i];
    if (plan_[i].candidate == best_) continue;
    const double above = plan_[i].calls * std::max(0.0, times[i] - estimate(best_));
    spent_ += above;
    if (explored_) spent_later_ += above;
  }
}

// Where the best one takes another time than it did, the others may too.
void Tuner::look_for_drift() {
  std::vector<double>& times = seen_[best_].times;
  if (!settled_ || times.size() < kSteadyRuns) return;
  const std::vector<double> last(times.end() - kSteadyRuns, times.end());
  const double ratio = lower_median(last) / reference_;
  if (ratio < kDrift && ratio > 1 / kDrift) return;
  for (uint32_t c = 0; c < seen_.size(); ++c)
    if (c != best_ && estimate(c) > 0) seen_[c].times = {estimate(c)};
  times = last;
  choose();
  reference_ = estimate(best_);
}

Plan Tuner::trials() const {
  Plan plan;
  for (uint32_t c = 0; c < seen_.size(); ++c)
    if (seen_[c].times.empty()) plan.push_back({.candidate = c, .calls = 1});
  if (!plan.empty()) return plan;
  double prices = 0;
  for (uint32_t c = 0; c < seen_.size(); ++c) {
    if (c == best_ || seen_[c].times.size() >= runs_wanted(c)) continue;
    if (!affordable(prices + price(c))) continue;
    prices += price(c);
    plan.push_back({.candidate = c, .calls = kTrialCalls});
  }
  if (!plan.empty()) plan.insert(plan.begin(), {.candidate = best_, .calls = kTrialCalls});
  return plan;
}

Plan Tuner::steady() const {
  const uint64_t calls = std::clamp(calls_ / kEpochsPerAge, kShortestEpoch, kLongestEpoch);
  Plan plan(kSteadyRuns, {.candidate = best_, .calls = static_cast<uint32_t>(calls / kSteadyRuns)});
  const Seen* oldest = nullptr;
  for (uint32_t c = 0; c < seen_.size(); ++c) {
    if (c == best_ || !affordable(price(c))) continue;
    if (oldest == nullptr || seen_[c].epoch < oldest->epoch) oldest = &seen_[c];
  }
  if (oldest != nullptr)
    plan.push_back({.candidate = static_cast<uint32_t>(oldest - seen_.data()), .calls = kTrialCalls});
  return plan;
}

// The nearer it is to the best one, the more runs it takes to tell them apart, and the less they cost.
std::size_t Tuner::runs_wanted(uint32_t candidate) const {
  const double above = estimate(candidate) / estimate(best_) - 1;
  if (above + 1 > kFar) return 1;
  if (above * kRemembered <= kEnough) return kRemembered;
  return std::max<std::size_t>(2, static_cast<std::size_t>(std::ceil(kEnough / above)));
}

double Tuner::price(uint32_t candidate) const {
  return kTrialCalls * std::max(0.0, estimate(candidate) - estimate(best_));
}

bool Tuner::affordable(double price) const {
  const double useful = std::max(total_ - spent_, kHorizon * estimate(best_));
  if (spent_ + price > kMostRegret / (1 - kMostRegret) * useful) return false;
  return !explored_ || spent_later_ + price <= kMostLaterRegret * total_;
}

}  // namespace ompl::coll
