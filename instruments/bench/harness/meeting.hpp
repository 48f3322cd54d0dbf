// SPDX-License-Identifier: BSD-3-Clause
// Where the two ranks of a library without a start-up of its own meet: a socket beside the driver's. They are told apart
// by the launcher's PMI_RANK.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace bench {

// A number that the launcher gives.
inline int launched(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr)
    throw std::runtime_error(std::string("no ") + name + ": started without a launcher");
  return std::atoi(text);
}
inline int launched_rank() { return launched("PMI_RANK"); }

// A connection between the two ranks. Everything here waits 20 s at most and throws std::runtime_error.
class Meeting {
 public:
  Meeting(const std::string& path, int rank) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    if (path.size() >= sizeof at.sun_path) throw std::runtime_error("path of the socket too long");
    path.copy(at.sun_path, path.size());
    const auto* address = reinterpret_cast<const sockaddr*>(&at);
    const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{.tv_sec = kLimit.count(), .tv_usec = 0};
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);  // accept() and all that is read
    if (rank == 0) {
      if (bind(made, address, sizeof at) == 0 && listen(made, 1) == 0)
        fd_ = accept(made, nullptr, nullptr);
      close(made);
      if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    } else {
      const auto end = std::chrono::steady_clock::now() + kLimit;
      bool met = false;
      while (!(met = connect(made, address, sizeof at) == 0) && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      met ? fd_ = made : close(made);
    }
    if (fd_ < 0) throw std::runtime_error("the other rank did not come");
  }
  ~Meeting() { close(fd_); }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

  // Gives the other rank these bytes (a few KiB at most) and returns those it gives; their number may differ.
  [[nodiscard]] std::vector<char> exchange(const void* bytes, std::size_t size) const {
    write(&size, sizeof size);
    write(bytes, size);
    read(&size, sizeof size);
    std::vector<char> theirs(size);
    read(theirs.data(), size);
    return theirs;
  }
  template <class T>
  [[nodiscard]] T exchange(const T& mine) const {
    T theirs;
    write(&mine, sizeof mine);
    read(&theirs, sizeof theirs);
    return theirs;
  }

 private:
  static constexpr std::chrono::seconds kLimit{20};

  // No bytes are left out: the other rank may be through and gone, or recv() wait for one that never comes.
  void write(const void* bytes, std::size_t size) const {
    if (size > 0 && send(fd_, bytes, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) gone();
  }
  void read(void* bytes, std::size_t size) const {
    if (size > 0 && recv(fd_, bytes, size, MSG_WAITALL) != static_cast<ssize_t>(size)) gone();
  }
  [[noreturn]] static void gone() { throw std::runtime_error("the other rank is gone"); }

  int fd_ = -1;
};

}  // namespace bench
