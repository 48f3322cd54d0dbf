// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/wait_set.hpp"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr itimerspec kEverySecond{.it_interval = {.tv_sec = 1, .tv_nsec = 0},
                                  .it_value = {.tv_sec = 1, .tv_nsec = 0}};
constexpr itimerspec kNever{};

}  // namespace

WaitSet::~WaitSet() {
  if (set_ >= 0 && !closed_) ::close(set_);
  if (timer_ >= 0) ::close(timer_);
}

int WaitSet::open() {
  if (!resources_.can_sleep) return OMPL_OK;
  const bool has_events = resources_.events != nullptr;
  if (fi_control(&resources_.queue->fid, FI_GETWAIT, &watched_[0]) != 0 ||
      (has_events && fi_control(&resources_.events->fid, FI_GETWAIT, &watched_[1]) != 0)) {
    return fail(OMPL_ERR_UNSUPPORTED, "the provider has no descriptors to sleep on");
  }
  timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  set_ = epoll_create1(EPOLL_CLOEXEC);
  if (set_ < 0 || timer_ < 0) {
    return fail(OMPL_ERR_SYSTEM, "a set of descriptors cannot be made: {}", error_text(errno));
  }
  return OMPL_OK;
}

void WaitSet::watch(bool on) {
  for (const int descriptor : watched_) {
    if (descriptor < 0) continue;
    epoll_event readable{};
    readable.events = EPOLLIN;
    if (epoll_ctl(set_, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, descriptor, &readable) != 0) closed_ = true;
  }
  armed_ = on && !closed_;
  if (closed_) ::close(set_);
}

bool WaitSet::arm(bool timed) {
  if (set_ < 0 || closed_) return false;
  timed = timed || !resources_.events;
  if (timed != (watched_[2] >= 0)) {
    if (armed_) watch(false);
    watched_[2] = timed ? timer_ : -1;
    timerfd_settime(timer_, 0, timed ? &kEverySecond : &kNever, nullptr);
  }
  if (!armed_) watch(true);
  if (closed_) return false;
  uint64_t ticks = 0;
  if (timed) static_cast<void>(!::read(timer_, &ticks, sizeof ticks));
  std::array<fid*, 2> objects{&resources_.queue->fid, nullptr};
  std::size_t count = 1;
  if (resources_.events) objects[count++] = &resources_.events->fid;
  return fi_trywait(resources_.fabric.get(), objects.data(), static_cast<int>(count)) == 0;
}

}  // namespace ompl::conduit::ofi
