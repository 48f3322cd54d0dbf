// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/verbs/wait_set.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>

#include "util/status.hpp"

namespace ompl::conduit::verbs {

WaitSet::~WaitSet() {
  if (set_ >= 0) ::close(set_);
  if (timer_ >= 0) ::close(timer_);
}

int WaitSet::open() {
  set_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (set_ >= 0) timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  const auto add = [this](int fd) {
    epoll_event readable{.events = EPOLLIN, .data = {}};
    return ::epoll_ctl(set_, EPOLL_CTL_ADD, fd, &readable) == 0;
  };
  if (timer_ < 0 || !add(timer_) || !add(resources_.channel->fd))
    return fail(OMPL_ERR_SYSTEM, "cannot make a descriptor to sleep on: {}", error_text(errno));
  return OMPL_OK;
}

bool WaitSet::arm(int64_t ms) {
  disarm();
  armed_ = true;
  const itimerspec limit{.it_interval = {},
                         .it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000}};
  return ibv_req_notify_cq(resources_.receives.get(), 0) == 0 &&
         ibv_req_notify_cq(resources_.sends.get(), 0) == 0 &&
         ::timerfd_settime(timer_, 0, &limit, nullptr) == 0;
}

void WaitSet::disarm() {
  if (!armed_) return;
  armed_ = false;
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (shared_.library->get_cq_event(resources_.channel.get(), &queue, &context) == 0)
    shared_.library->ack_cq_events(queue, 1);
  uint64_t expirations = 0;
  [[maybe_unused]] const ssize_t drained = ::read(timer_, &expirations, sizeof expirations);
}

}  // namespace ompl::conduit::verbs
