// SPDX-License-Identifier: BSD-3-Clause
// A thread that waits lets others have its core.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

namespace ompl::arch {

// sched_yield(); but a thread with a real-time priority only yields to those of its own, so that it would starve the one it
// waits for, for ever on one core: it sleeps for a moment.
// Not a cancellation point, and not inlined: a caller may go on in another thread later.
[[gnu::noinline]] inline void give_way() {
  constexpr uint32_t kLookEvery = 64;  // a look costs as much as a yield
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 50'000};
  thread_local uint32_t turns = 0;
  thread_local bool real_time = false;
  if (turns++ % kLookEvery == 0) {
    const int error = errno;
    const int policy = ::sched_getscheduler(0);
    real_time = policy == SCHED_FIFO || policy == SCHED_RR;
    errno = error;
  }
  if (real_time) {
    ::syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &kMoment, nullptr);
  } else {
    ::sched_yield();
  }
}

}  // namespace ompl::arch
