// SPDX-License-Identifier: BSD-3-Clause
// A descriptor that becomes readable when a process ends.
#pragma once

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace ompl::arch {

// Whether `fd` still is what it was made as, a pidfd or an eventfd. A program may close descriptors that are not its own
// (before it becomes a daemon, say), and later open a file of its own under the same number. Only for what is no pidfd the system
// answers EBADF; EINVAL is its answer for a process of another PID namespace, as of ranks in containers of their own.
inline bool is_process_watch(int fd) {
  if (::syscall(SYS_pidfd_send_signal, fd, 0, nullptr, 0) == 0 || errno != EBADF) return true;
  std::ifstream file(fmt::format("/proc/self/fdinfo/{}", fd));
  for (std::string word; file >> word;) {
    if (word == "eventfd-count:") return true;
  }
  return false;
}

// Whether it tells that the process has ended.
inline bool tells_of_end(int fd) {
  pollfd death{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&death, 1, 0) == 1 && (death.revents & POLLIN) != 0 && is_process_watch(fd);
}

}  // namespace ompl::arch
