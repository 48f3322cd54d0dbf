// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sched.h>

#include <atomic>

namespace tasklet {

// For a few instructions at a time. A thread that lost its core while it holds the lock gets it back by the others' yields.
class SpinLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) {
      for (int turn = 0; held_.load(std::memory_order_relaxed); ++turn)
        if (turn > 50) ::sched_yield();
    }
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace tasklet
