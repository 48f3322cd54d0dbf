// SPDX-License-Identifier: BSD-3-Clause
// A member's own part of tuning: it takes the candidates that a plan names, call by call, and notes how long each took.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ompl::coll {

// Calls one after the other that take the same candidate.
struct Run {
  uint32_t candidate = 0;
  uint32_t calls = 0;

  bool operator==(const Run&) const = default;
};
using Plan = std::vector<Run>;

class Epoch {
 public:
  explicit Epoch(Plan plan) : plan_(std::move(plan)) {}

  [[nodiscard]] bool over() const { return run_ == plan_.size(); }
  // Of the next call; not once it is over.
  [[nodiscard]] uint32_t candidate() const { return plan_[run_].candidate; }
  // How long that call took, in seconds.
  void note(double seconds);
  // Of each run so far, the lower median: what disturbs a call makes it longer, never shorter.
  [[nodiscard]] const std::vector<double>& times() const { return times_; }

 private:
  Plan plan_;
  std::size_t run_ = 0;
  std::vector<double> noted_;  // of the run
  std::vector<double> times_;
};

// The value in the middle, the lower of two; `values` is not empty.
double lower_median(std::vector<double> values);

}  // namespace ompl::coll
