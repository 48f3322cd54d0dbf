// SPDX-License-Identifier: BSD-3-Clause
// Times of a replay. The replayer is written for any of two clocks: a plain number, and one that also carries what it
// consists of. Every time is a sum of parameters times counts, a maximum of such, or a stretch of one by the sharing of
// bandwidth, so the counts are its exact partial derivatives (where it has them).
#pragma once

#include <array>
#include <cstdint>

#include "model/replay/parameters.hpp"

namespace ompl::model {

// A stretch of a critical path, by the rank where it is and its number among those of that rank's group (critical_path.hpp).
struct Stretch {
  uint32_t number = 0, rank = 0;
};

struct Traced {
  double ns = 0;
  Stretch path;  // the last of its critical path
  std::array<double, term_count> counts{};

  Traced& operator+=(const Traced& other) {
    ns += other.ns;
    for (std::size_t i = 0; i < term_count; ++i) counts[i] += other.counts[i];
    return *this;
  }
  friend Traced operator+(Traced a, const Traced& b) { return a += b; }
  friend Traced operator-(Traced a, const Traced& b) { return a += b * -1; }
  friend Traced operator*(Traced a, double factor) {
    a.ns *= factor;
    for (double& count : a.counts) count *= factor;
    return a;
  }
};

[[nodiscard]] inline double ns(double clock) { return clock; }
[[nodiscard]] inline double ns(const Traced& clock) { return clock.ns; }

template <class Clock>
[[nodiscard]] const Clock& later(const Clock& a, const Clock& b) {
  return ns(a) < ns(b) ? b : a;
}

// A stretch that began at `from` ends at `when`: the critical path goes through its own beginning, although others that
// shared the bandwidth moved its end.
inline void continue_path(double& /*when*/, double /*from*/) {}
inline void continue_path(Traced& when, const Traced& from) { when.path = from.path; }

// `count` times a parameter.
template <class Clock>
[[nodiscard]] inline Clock amount(const Parameters& parameters, Term term, double count);

template <>
inline double amount<double>(const Parameters& parameters, Term term, double count) {
  return parameters.value[term] * count;
}

template <>
inline Traced amount<Traced>(const Parameters& parameters, Term term, double count) {
  Traced out;
  out.ns = parameters.value[term] * count;
  out.counts[term] = count;
  return out;
}

}  // namespace ompl::model
