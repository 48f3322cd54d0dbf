// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/wait_set.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "util/status.hpp"

namespace ompl::conduit::ofi {

WaitSet::~WaitSet() {
  if (set_ >= 0) ::close(set_);
}

int WaitSet::open() {
  set_ = epoll_create1(EPOLL_CLOEXEC);
  if (set_ < 0)
    return fail(OMPL_ERR_SYSTEM, "epoll_create1: {}", std::generic_category().message(errno));
  if (fi_control(&resources_.queue->fid, FI_GETWAIT, &queues_[0]) != 0 ||
      fi_control(&resources_.events->fid, FI_GETWAIT, &queues_[1]) != 0) {
    return fail(OMPL_ERR_UNSUPPORTED, "the provider has no descriptors to sleep on");
  }
  return OMPL_OK;
}

void WaitSet::watch(bool on) {
  for (const int queue : queues_) {
    epoll_event readable{};
    readable.events = EPOLLIN;
    epoll_ctl(set_, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, queue, &readable);
  }
  armed_ = on;
}

bool WaitSet::arm() {
  if (!armed_) watch(true);
  std::array<fid*, 2> objects{&resources_.queue->fid, &resources_.events->fid};
  return fi_trywait(resources_.fabric.get(), objects.data(), static_cast<int>(objects.size())) == 0;
}

}  // namespace ompl::conduit::ofi
