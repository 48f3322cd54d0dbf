// SPDX-License-Identifier: BSD-3-Clause
// A thread that works for moments, and is to have the core soon when it is woken, although another one computes there.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace ompl::arch {

// Asks the system for short turns of the calling thread: from Linux 6.12 on one that has them takes the core from a thread with
// longer ones as soon as it wakes (sched_setattr(2), sched_runtime); before, the number is not looked at. It gets no larger share of the
// core. Threads with other policies than the usual one stay as they are. May be refused; nothing depends on it.
inline void take_short_turns() {
  constexpr uint64_t kTurn_ns = 100'000;  // the least that the system accepts
  struct {                                // struct sched_attr, which not every C library declares
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes{};
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime = kTurn_ns;
  static_cast<void>(::syscall(SYS_sched_setattr, 0, &attributes, 0));
}

}  // namespace ompl::arch
