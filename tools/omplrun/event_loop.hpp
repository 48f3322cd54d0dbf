// SPDX-License-Identifier: BSD-3-Clause
// Descriptors and signals as events of one thread.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace omplrun {

// Ends what the caller is doing, by an exception that says which call the system did not do, why, and what to do.
[[noreturn]] void give_up(const char* call);

// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }

  void reset() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// One thread, many descriptors: calls a handler for each one that is ready (epoll).
class EventLoop {
 public:
  using Handler = std::function<void()>;

  // Throws where the system refuses what it takes.
  EventLoop();

  // Calls `handler` whenever `fd` is ready for `events` (EPOLLIN, EPOLLOUT; hang-ups always count).
  // False if fd is of a kind that cannot be waited for, such as a regular file.
  bool watch(int fd, uint32_t events, Handler handler);
  // To be called before fd is closed; allowed from handlers, and for a descriptor that is not watched.
  void forget(int fd);

  // Waits until something is ready, but no longer than `limit`, and handles it.
  void run_once(std::chrono::milliseconds limit);

 private:
  Fd epoll_;
  std::unordered_map<int, std::shared_ptr<Handler>> handlers_;
};

// Signals as events: they are blocked, and read from a descriptor instead.
class Signals {
 public:
  // Takes over SIGCHLD, which is never ignored from then on, and the signals that are passed on to the ranks, but for
  // those that are ignored already (as SIGHUP under nohup).
  Signals();

  [[nodiscard]] int descriptor() const { return fd_.get(); }
  // The next signal that has come, if any.
  [[nodiscard]] std::optional<int> next() const;
  // The mask that programs are to be started with.
  [[nodiscard]] const sigset_t& original_mask() const { return original_; }
  // Stops this process as SIGTSTP does that is not taken over. Returns when it is continued.
  static void stop_like_others();

 private:
  sigset_t original_{};
  Fd fd_;
};

// "SIGSEGV (Segmentation fault)"
std::string signal_name(int signal);

}  // namespace omplrun
