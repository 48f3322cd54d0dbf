// SPDX-License-Identifier: BSD-3-Clause
// One thread, many descriptors: calls a handler for each one that is ready (epoll).
#pragma once

#include <sys/epoll.h>

#include <chrono>
#include <functional>
#include <memory>
#include <unordered_map>

#include "fd.hpp"

namespace omplrun {

class EventLoop {
 public:
  using Handler = std::function<void()>;

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

}  // namespace omplrun
