// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>

namespace ompl {

inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A point in time after which a blocking call gives up, or never. Reads the clock only if finite.
class Deadline {
 public:
  static Deadline never() { return Deadline(INT64_MAX); }
  // Negative: never; 0: already passed, so the call tries once.
  static Deadline in(int64_t timeout_ns) {
    if (timeout_ns < 0) return never();
    if (timeout_ns == 0) return Deadline(INT64_MIN);
    const int64_t now = now_ns();
    return Deadline(timeout_ns > INT64_MAX - 1 - now ? INT64_MAX - 1 : now + timeout_ns);
  }

  [[nodiscard]] bool finite() const { return at_ns_ != INT64_MAX; }
  [[nodiscard]] bool immediate() const { return at_ns_ == INT64_MIN; }
  [[nodiscard]] bool passed() const { return finite() && (immediate() || now_ns() >= at_ns_); }
  // At most `limit`, not below 0.
  [[nodiscard]] std::chrono::nanoseconds remaining(std::chrono::nanoseconds limit) const {
    if (!finite()) return limit;
    if (immediate()) return std::chrono::nanoseconds(0);
    const int64_t left = at_ns_ - now_ns();
    return std::chrono::nanoseconds(left < 0 ? 0 : left < limit.count() ? left : limit.count());
  }

 private:
  explicit Deadline(int64_t at_ns) : at_ns_(at_ns) {}
  int64_t at_ns_;
};

}  // namespace ompl
