// SPDX-License-Identifier: BSD-3-Clause
// Where the time of call sites goes, summed over all ranks. The sums are exact, so it does not matter in which order
// the ranks were replayed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "model/replay/replay.hpp"

namespace ompl::model {

class SiteTimes {
 public:
  explicit SiteTimes(uint32_t sites) : sums_(sites) {}

  // Passed over if the trace knows no such site. Nanoseconds; at most 146 years at a time.
  void add(uint32_t site, double Breakdown::*part, double ns) {
    if (site < sums_.size()) sums_[site][place_of(part)] += fixed(ns);
  }
  void add(const SiteTimes& other) {
    for (std::size_t site = 0; site < sums_.size(); ++site)
      for (std::size_t i = 0; i < kParts.size(); ++i) sums_[site][i] += other.sums_[site][i];
  }
  [[nodiscard]] std::vector<Breakdown> times() const {
    std::vector<Breakdown> out(sums_.size());
    for (std::size_t site = 0; site < sums_.size(); ++site)
      for (std::size_t i = 0; i < kParts.size(); ++i)
        out[site].*kParts[i] = static_cast<double>(sums_[site][i]) / kUnits;
    return out;
  }

 private:
  static constexpr std::array kParts{&Breakdown::compute, &Breakdown::overhead, &Breakdown::send_wait,
                                     &Breakdown::recv_wait};
  static constexpr double kUnits = 1LL << 32;  // in a nanosecond

  static std::size_t place_of(double Breakdown::*part) {
    std::size_t i = 0;
    while (kParts[i] != part) ++i;
    return i;
  }
  static __int128 fixed(double ns) {
    constexpr double kMost_ns = 1LL << 62;
    const auto whole = static_cast<int64_t>(std::clamp(ns, -kMost_ns, kMost_ns));
    const double rest = std::clamp(ns - static_cast<double>(whole), -1.0, 1.0);
    return static_cast<__int128>(whole) * (1LL << 32) + static_cast<int64_t>(rest * kUnits);
  }

  std::vector<std::array<__int128, kParts.size()>> sums_;  // in 2^-32 ns
};

}  // namespace ompl::model
