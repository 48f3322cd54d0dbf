// SPDX-License-Identifier: BSD-3-Clause
// Time stamps: the processor's counter where the kernel trusts it too, else CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <ctime>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ompl::trace {

inline uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000U + static_cast<uint64_t>(now.tv_nsec);
}

class Clock {
 public:
  // Takes a first pair of both clocks. The longer ago that was, the better calibrate() does.
  void start();
  // Takes the second pair, at least 10 ms after the first.
  void calibrate();

  uint64_t ticks() const {
#if defined(__x86_64__)
    if (counter_) return __rdtsc();
#endif
    return monotonic_ns();
  }

  // What CLOCK_MONOTONIC showed at these ticks, as far as the calibration goes: some 1e-6 of the time since.
  uint64_t ns(uint64_t ticks) const {
    return offset_ + static_cast<uint64_t>((static_cast<unsigned __int128>(ticks) * scale_) >> kShift);
  }

  const char* name() const { return counter_ ? "tsc" : "monotonic"; }

  // This clock and CLOCK_MONOTONIC at one moment.
  struct Pair {
    uint64_t ticks;
    uint64_t ns;
    uint64_t uncertainty;  // ns
  };
  Pair pair() const;

 private:
  static constexpr int kShift = 32;

  void begin_at(const Pair& pair);

  bool counter_ = false;
  Pair base_{};
  uint64_t scale_ = uint64_t{1} << kShift;  // ns per tick
  uint64_t offset_ = 0;                     // of 0 ticks, so that base_ is met; wraps around
};

}  // namespace ompl::trace
