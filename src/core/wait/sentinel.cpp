// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait/sentinel.hpp"

#include <sys/epoll.h>

#include <array>

#include "core/job/runtime.hpp"
#include "core/network/network.hpp"

namespace ompl {

bool become_sentinel(Runtime& runtime, SentinelRole role) {
  if (runtime.network == nullptr || !runtime.network->pool.can_sleep()) return false;
  std::atomic<SentinelRole>& sentinel = runtime.memory.header().sentinel;
  auto holder = SentinelRole::none;
  while (!sentinel.compare_exchange_strong(holder, role, std::memory_order_seq_cst)) {
    if (role == SentinelRole::progress_thread || holder == SentinelRole::waiter) return false;
  }
  if (holder == SentinelRole::progress_thread) runtime.sleepers.poke_sentinel(runtime.rank());
  return true;
}

SentinelWake sleep_as_sentinel(Runtime& runtime, std::chrono::nanoseconds limit) {
  EndpointPool& pool = runtime.network->pool;
  if (!pool.arm_all()) return SentinelWake::at_once;
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit);
  std::array<epoll_event, 4> events{};
  const int found = ::epoll_wait(pool.epoll_fd(), events.data(), events.size(),
                                 static_cast<int>(milliseconds.count()));
  if (found < 0 && errno != EINTR) return SentinelWake::failed;
  SentinelWake wake = found > 0 ? SentinelWake::poked : SentinelWake::time;
  for (int i = 0; i < found; ++i) {
    if (events[static_cast<std::size_t>(i)].data.fd == runtime.sleepers.pipe_reader()) {
      runtime.sleepers.drain_pipe();
    } else {
      wake = SentinelWake::network;
    }
  }
  return wake;
}

bool resign_as_sentinel(Runtime& runtime, SentinelRole role) {
  return runtime.memory.header().sentinel.compare_exchange_strong(role, SentinelRole::none,
                                                                  std::memory_order_seq_cst);
}

// Whoever was registered and goes away, sentinel or not, may be the one that was woken to take the role over:
// if nobody has it, wake a bucket, whose threads compete for it [16].
void hand_on_role(Runtime& runtime) {
  // So may a call that has come in, and that this thread was woken to run.
  if (runtime.remote_calls.due()) runtime.sleepers.wake_any(runtime.rank());
  if (runtime.network == nullptr) return;
  if (runtime.memory.header().sentinel.load(std::memory_order_seq_cst) != SentinelRole::none) return;
  runtime.sleepers.wake_some_bucket(runtime.rank());
}

}  // namespace ompl
