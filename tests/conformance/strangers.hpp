// SPDX-License-Identifier: BSD-3-Clause
// Connections of another process to a rank's listener, held open.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace ompl::conduit::test {

// Descriptors of this process.
inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

class Strangers {
 public:
  // Begins to make so many connections to that port of the loopback, and to say so many bytes of nothing on each.
  Strangers(uint16_t port, int count, std::size_t bytes) {
    if (::pipe2(line_.data(), O_CLOEXEC) != 0) return;
    child_ = ::fork();
    if (child_ != 0) {
      ::close(line_[1]);
      return;
    }
    for (int i = 0; i < count; ++i) {
      if (!knock(port, bytes)) ::_exit(1);
    }
    if (::write(line_[1], "", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  ~Strangers() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::close(line_[0]);
  }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

  // Whether all are there, or it has become clear that they cannot be.
  [[nodiscard]] bool came() const {
    pollfd waited{.fd = line_[0], .events = POLLIN, .revents = 0};
    return ::poll(&waited, 1, 0) == 1;
  }
  // After that: whether they are there.
  [[nodiscard]] bool are_there() const {
    char byte = 0;
    return ::read(line_[0], &byte, 1) == 1;
  }

 private:
  // The connection stays open until the process ends.
  static bool knock(uint16_t port, std::size_t bytes) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const char nothing = 0;
    return fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
           ::send(fd, &nothing, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
  }

  pid_t child_ = -1;
  std::array<int, 2> line_{-1, -1};
};

}  // namespace ompl::conduit::test
