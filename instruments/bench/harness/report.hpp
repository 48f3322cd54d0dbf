// SPDX-License-Identifier: BSD-3-Clause
// What a worker reports of a command, and what one thread measured. JSON is made of it in control.cpp: adapters are compiled
// for each library that is found, and need not compile the parser, too.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "histogram.hpp"

namespace bench {

// Called with what is wrong with a payload; does not return.
using OnCorrupt = std::function<void(const std::string&)>;

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline double in_seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Processor time of all threads of this process.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return in_seconds(now);
}

struct ThreadReport {
  uint64_t iterations = 0;  // round trips, or messages of `rate`, that were timed
  double seconds = 0;
  std::optional<uint64_t> failed_claims;  // if the library counts them
  uint64_t sent = 0;                      // messages, the warm-up's too
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
  Histogram histogram;  // of single round trips, leaders only

  void sample(Clock::duration period) {
    const auto ns = static_cast<uint64_t>(std::chrono::nanoseconds(period).count());
    min_ns = std::min(min_ns, ns);
    max_ns = std::max(max_ns, ns);
    histogram.add(ns);
  }
};

// Names and values.
using Report = std::vector<std::pair<
    std::string, std::variant<uint64_t, double, std::string, Histogram, std::vector<ThreadReport>>>>;

// {"threads": [{"iterations", "seconds", "sent", "failed_claims"}], "histogram": [[bucket, count]], "min_ns", "max_ns"}
Report report_of(const std::vector<ThreadReport>& threads);

}  // namespace bench
