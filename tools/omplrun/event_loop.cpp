// SPDX-License-Identifier: BSD-3-Clause
#include "event_loop.hpp"

#include <array>
#include <cerrno>
#include <system_error>

namespace omplrun {

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

bool EventLoop::watch(int fd, uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
  handlers_[fd] = std::make_shared<Handler>(std::move(handler));
  return true;
}

void EventLoop::forget(int fd) {
  if (handlers_.erase(fd) != 0) epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::run_once(std::chrono::milliseconds limit) {
  std::array<epoll_event, 64> events;
  const int ready = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                               static_cast<int>(limit.count()));
  for (int i = 0; i < ready; ++i) {
    // Looked up now, since an earlier handler may have forgotten it, and held, since it may forget itself.
    const auto found = handlers_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (found == handlers_.end()) continue;
    const auto handler = found->second;
    (*handler)();
  }
}

}  // namespace omplrun
