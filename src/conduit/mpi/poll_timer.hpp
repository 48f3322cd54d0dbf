// SPDX-License-Identifier: BSD-3-Clause
// MPI has no descriptor to sleep on: who sleeps is woken to look again, soon at first, then less often.
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace ompl::conduit::mpi {

// Used by one thread at a time, but for descriptor().
class PollTimer {
 public:
  PollTimer() = default;
  ~PollTimer() {
    if (timer_ >= 0) ::close(timer_);
  }
  PollTimer(const PollTimer&) = delete;
  PollTimer& operator=(const PollTimer&) = delete;

  // Readable when it is time to look; -1 if the system gives none.
  [[nodiscard]] int descriptor() const { return timer_; }
  // Something was found: more may come.
  void hurry() { interval_ns_ = kShortest_ns; }
  // False: it was set already.
  bool set() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t now_ns = int64_t{now.tv_sec} * kSecond_ns + now.tv_nsec;
    if (now_ns < due_ns_) return false;
    due_ns_ = now_ns + interval_ns_;
    const itimerspec due{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = interval_ns_}};
    ::timerfd_settime(timer_, 0, &due, nullptr);
    interval_ns_ = std::min(2 * interval_ns_, kLongest_ns);
    return true;
  }

 private:
  static constexpr int64_t kSecond_ns = 1'000'000'000;
  static constexpr int64_t kShortest_ns = 20'000;
  static constexpr int64_t kLongest_ns = 250'000;

  const int timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  int64_t interval_ns_ = kShortest_ns;
  int64_t due_ns_ = 0;
};

}  // namespace ompl::conduit::mpi
