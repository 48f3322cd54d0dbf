// SPDX-License-Identifier: BSD-3-Clause
#include "halo/trial.hpp"

#include <algorithm>

namespace ompl::halo {

void Trial::note(int64_t now_ns) {
  const bool counts = exchanges_ > 0 && (exchanges_ - 1) % kRun != 0;
  if (counts) times_[carrier_of(exchanges_ - 1)].push_back(now_ns - last_);
  last_ = now_ns;
}

std::size_t Trial::next(int64_t now_ns) {
  note(now_ns);
  return carrier_of(exchanges_++);
}

std::vector<uint64_t> Trial::end(int64_t now_ns) {
  note(now_ns);
  std::vector<uint64_t> medians;
  for (std::vector<int64_t>& times : times_) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    medians.push_back(static_cast<uint64_t>(*middle));
  }
  return medians;
}

}  // namespace ompl::halo
