// SPDX-License-Identifier: BSD-3-Clause
// What one sleeps on: a descriptor that is readable when either queue of an endpoint has something, or, where
// silence has to be looked into, now and then.
#pragma once

#include <array>

#include "conduit/ofi/resources.hpp"

namespace ompl::conduit::ofi {

class WaitSet {
 public:
  explicit WaitSet(const Resources& resources) : resources_(resources) {}
  ~WaitSet();
  WaitSet(const WaitSet&) = delete;
  WaitSet& operator=(const WaitSet&) = delete;

  // Without descriptors in the provider there is none here, and descriptor() stays -1.
  int open();
  // It is closed once what it watches is gone, since the program has closed descriptors that were not its own: whoever watches
  // the set then finds it gone too.
  [[nodiscard]] int descriptor() const { return set_; }

  // True if both queues are empty and the descriptor tells when one no longer is; once a second in any case, if `timed`.
  bool arm(bool timed = false);
  // Back to polling: while watched, each packet that arrives would cost a wake-up of the set (half a
  // microsecond).
  void disarm() {
    if (armed_) watch(false);
  }

 private:
  void watch(bool on);

  const Resources& resources_;
  std::array<int, 3> watched_{-1, -1, -1};  // the completion queue's, the event queue's, a timer's
  int timer_ = -1;
  int set_ = -1;
  bool armed_ = false;
  bool closed_ = false;
};

}  // namespace ompl::conduit::ofi
