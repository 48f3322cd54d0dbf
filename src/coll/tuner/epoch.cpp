// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tuner/epoch.hpp"

#include <algorithm>

namespace ompl::coll {

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

}  // namespace ompl::coll
