// SPDX-License-Identifier: BSD-3-Clause
// The descriptor an endpoint sleeps on: its completion channel, and a timer for what must not be forgotten meanwhile.
#pragma once

#include <cstdint>

#include "conduit/verbs/resources.hpp"

namespace ompl::conduit::verbs {

class WaitSet {
 public:
  explicit WaitSet(const SharedState& shared, const Resources& resources)
      : shared_(shared), resources_(resources) {}
  ~WaitSet();
  WaitSet(const WaitSet&) = delete;
  WaitSet& operator=(const WaitSet&) = delete;

  int open();
  [[nodiscard]] int descriptor() const { return set_; }
  // From now on a completion, or the end of that time, makes the descriptor readable.
  bool arm(int64_t ms);
  // Not readable any more.
  void disarm();

 private:
  const SharedState& shared_;
  const Resources& resources_;
  int set_ = -1;
  int timer_ = -1;
  bool armed_ = false;
};

}  // namespace ompl::conduit::verbs
