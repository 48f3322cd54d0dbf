// SPDX-License-Identifier: BSD-3-Clause
// Counts of times in nanoseconds, in buckets of at most 1.6 % width: small enough to send after
// each round, exact enough to take percentiles over all of them. stats.py holds the inverse.
#pragma once

#include <bit>
#include <cstdint>
#include <map>

namespace bench {

class Histogram {
 public:
  // Values below 128 have a bucket each; above, every power of two has 64.
  static constexpr unsigned bucket(uint64_t ns) {
    const auto width = static_cast<unsigned>(std::bit_width(ns));
    const unsigned shift = width > 7 ? width - 7 : 0;
    return shift * 64 + static_cast<unsigned>(ns >> shift);
  }

  void add(uint64_t ns) { ++counts_[bucket(ns)]; }
  void merge(const Histogram& other) {
    for (const auto& [index, count] : other.counts_) counts_[index] += count;
  }
  [[nodiscard]] const std::map<unsigned, uint64_t>& counts() const { return counts_; }

 private:
  std::map<unsigned, uint64_t> counts_;
};

}  // namespace bench
