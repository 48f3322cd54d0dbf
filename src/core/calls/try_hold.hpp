// SPDX-License-Identifier: BSD-3-Clause
// Exclusive use of something for which nobody waits.
#pragma once

#include <atomic>

namespace ompl::calls {

// Has set the flag, unless it was set already, and clears it at its end. Both are sequentially consistent: who finds the flag set and
// leaves a mark relies on it that the holder looks at the marks once it has cleared the flag.
class TryHold {
 public:
  explicit TryHold(std::atomic<bool>& flag)
      : flag_(flag), held_(!flag.exchange(true, std::memory_order_seq_cst)) {}
  ~TryHold() {
    if (held_) flag_.store(false, std::memory_order_seq_cst);
  }
  TryHold(const TryHold&) = delete;
  TryHold& operator=(const TryHold&) = delete;
  explicit operator bool() const { return held_; }

 private:
  std::atomic<bool>& flag_;
  const bool held_;
};

}  // namespace ompl::calls
