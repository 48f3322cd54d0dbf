// SPDX-License-Identifier: BSD-3-Clause
// How long a thread pair measures. A measurement is a row of batches; between two of them the leader
// looks at the clock and both sides verify a payload. Rank 0's thread decides and tells its partner.
#pragma once

#include <algorithm>
#include <cstdint>

namespace bench {

class Schedule {
 public:
  // A batch stays short, so that a library that suddenly starves a thread cannot stretch it much.
  static constexpr uint32_t kMaxBatch = 512;
  static constexpr uint64_t kWarmUp = 100;  // iterations, as in the papers

  struct Batch {
    uint32_t iterations = 0;  // 0: the end
    bool counts = false;      // false: warm-up
  };

  Schedule(uint64_t iterations, double seconds) : left_(iterations), seconds_(seconds) {}

  // The next batch, `elapsed` seconds after the start of the measurement. Warm-up ends after kWarmUp
  // iterations or a fifth of the time. At least one batch counts.
  Batch next(double elapsed) {
    const bool counts = warmed_ >= kWarmUp || elapsed > seconds_ / 5;
    if (counted_ && (left_ == 0 || elapsed >= seconds_)) return {};
    uint64_t length = std::min<uint64_t>(length_, fitting(elapsed));
    if (counts) {
      length = std::min(length, left_);
      left_ -= length;
      counted_ = true;
    } else {
      warmed_ += length;
    }
    planned_ = static_cast<uint32_t>(length);
    return {planned_, counts};
  }

  // That batch took `seconds`.
  void finished(double seconds) {
    per_iteration_ = seconds / planned_;
    length_ = std::min(length_ * 8, kMaxBatch);
  }

 private:
  // Iterations that fit into half of the time left, by the speed of the last batch; at least one.
  [[nodiscard]] uint64_t fitting(double elapsed) const {
    if (per_iteration_ <= 0) return length_;
    const double fit = (seconds_ - elapsed) / 2 / per_iteration_;
    return static_cast<uint64_t>(std::clamp(fit, 1.0, double{kMaxBatch}));
  }

  uint64_t left_;
  double seconds_;
  uint64_t warmed_ = 0;
  bool counted_ = false;
  uint32_t length_ = 1;
  uint32_t planned_ = 1;
  double per_iteration_ = 0;
};

}  // namespace bench
