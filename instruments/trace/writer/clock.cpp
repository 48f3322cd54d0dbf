// SPDX-License-Identifier: BSD-3-Clause
#include "clock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace ompl::trace {

namespace {

constexpr uint64_t kLeastNs = 10000000;  // between the pairs of a calibration
constexpr int kTries = 25;               // for a pair; the tightest counts

// Whether the kernel itself takes time from the counter: then it runs evenly, and alike on all cores.
bool kernel_uses_counter() {
#if defined(__x86_64__)
  const int file =
      open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char name[8] = {};
  const ssize_t length = read(file, name, sizeof name - 1);
  close(file);
  return length >= 3 && std::strncmp(name, "tsc", 3) == 0;
#else
  return false;
#endif
}

}  // namespace

Clock::Pair Clock::pair() const {
  Pair best{0, 0, UINT64_MAX};
  uint64_t width = UINT64_MAX;
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = ticks();
    const uint64_t at = monotonic_ns();
    const uint64_t after = ticks();
    if (after - before >= width) continue;
    width = after - before;
    best = {before + width / 2, at, 0};
  }
  best.uncertainty = ns(best.ticks + width / 2) - ns(best.ticks) + 1;
  return best;
}

void Clock::start() {
  counter_ = kernel_uses_counter();
  begin_at(pair());
}

void Clock::begin_at(const Pair& pair) {
  base_ = pair;
  offset_ = 0;
  offset_ = pair.ns - ns(pair.ticks);
}

void Clock::calibrate() {
  if (!counter_) return;
  while (monotonic_ns() - base_.ns < kLeastNs) {
  }
  const Pair now = pair();
  scale_ = static_cast<uint64_t>((static_cast<unsigned __int128>(now.ns - base_.ns) << kShift) /
                                 (now.ticks - base_.ticks));
  begin_at(now);
}

}  // namespace ompl::trace
