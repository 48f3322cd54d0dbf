// SPDX-License-Identifier: BSD-3-Clause
// Signals of the system interrupt system calls; no call of the layer fails for that.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

namespace ompl::arch {

// Calls a system call until no signal interrupts it.
template <class SystemCall>
auto uninterrupted(SystemCall call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// Until `fd` is readable: 1, or 0 when the time is over, or -1 (errno).
inline int await_readable(int fd, std::chrono::steady_clock::time_point end) {
  return uninterrupted([&] {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd waited{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&waited, 1, static_cast<int>(std::max<decltype(left)>(left, 0)));
  });
}

// While it lives no signal is delivered to the calling thread: for system calls that begin anew whenever one comes.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace ompl::arch
