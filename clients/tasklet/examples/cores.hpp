// SPDX-License-Identifier: BSD-3-Clause
// Threads bound to cores. Two threads that wait for each other must not share one: each would spin for as long as the other one
// could work, and the kernel does not part them while every other core has one thread to run.
#pragma once

#include <sched.h>

#include <cstddef>
#include <vector>

namespace cores {

// The cores that the process may use when this is made.
class Cores {
 public:
  Cores() {
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0) return;
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(static_cast<std::size_t>(core), &mask)) cores_.push_back(core);
  }
  // Binds the calling thread, one of `threads`, to a core of its own; does nothing if there are more threads than cores.
  void bind(long thread, long threads) const {
    if (threads < 2 || static_cast<std::size_t>(threads) > cores_.size()) return;
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<std::size_t>(cores_[static_cast<std::size_t>(thread)]), &mask);
    sched_setaffinity(0, sizeof mask, &mask);
  }

 private:
  std::vector<int> cores_;
};

}  // namespace cores
