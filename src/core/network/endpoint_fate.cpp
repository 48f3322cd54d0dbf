// SPDX-License-Identifier: BSD-3-Clause
// What becomes of what the endpoints have sent: completion, failure, descriptors that are gone. Protocol rules 13, 18.
#include <sys/epoll.h>

#include <algorithm>
#include <new>

#include "arch/give_way.hpp"
#include "core/network/endpoint_pool.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl {

// After a failure all count as complete, so it is looked for last.
int EndpointPool::completion_status(uint32_t slot, uint32_t rank, uint64_t ticket) const {
  const conduit::Endpoint& endpoint = *slots_[slot].endpoint;
  if (endpoint.completed(rank) < ticket) return is_severed_.load() ? severed() : 0;
  const int broken = failure_of(endpoint, rank);
  return broken == OMPL_OK ? 1 : broken;
}

int EndpointPool::await(Context& c, uint32_t rank, uint32_t slot, uint64_t ticket, Call call,
                        Deadline deadline, bool keeps_thread) {
  const Blocked what{.call = call, .peer = rank, .own_end = true, .keeps_thread = keeps_thread};
  Caller caller(c);
  // What a turn meets by the way concerns other calls: memory that it wants is no end of this wait.
  for (Context* now = &c;;) {
    try {
      return Blocker(*now, what, deadline).run([&] { return completion_status(slot, rank, ticket); });
    } catch (const std::bad_alloc&) {
      arch::give_way();
      now = &caller.now();
    }
  }
}

int EndpointPool::fate(const Slot& slot, uint32_t rank) const {
  if (is_severed_.load(std::memory_order_relaxed)) return severed();
  if (const int broken = failure_of(*slot.endpoint, rank); broken != OMPL_OK) return broken;
  // The answer comes from the target's slot, which may talk to another one of ours [12].
  return failure_of(*slots_[slot.index % pools_[rank].slots % size()].endpoint, rank);
}

int EndpointPool::failure_of(const conduit::Endpoint& endpoint, uint32_t rank) const {
  const int failure = endpoint.failure(rank);
  if (failure == OMPL_OK) return failure;
  const int code = said(rank, failure);
  return fail_quietly_with(
      code, [&] { return fmt::format("nothing reaches rank {}: {}", rank, endpoint.reason(rank)); });
}

int EndpointPool::known_failure(uint32_t rank) const {
  const int code = failures_.count() == 0 ? OMPL_OK : failures_.peer(rank).failure.load();
  if (code == OMPL_OK) return code;
  return fail_quietly_with(code, [&] {
    return fmt::format("nothing reaches rank {}: it {}", rank,
                       code == OMPL_ERR_PEER ? "died" : "is out of reach");
  });
}

int EndpointPool::said(uint32_t rank, int code) const {
  if (failures_.peer(rank).departed.load()) return code;
  if (departed(rank)) code = OMPL_ERR_PEER;
  try {
    for (const Broken& broken : broken_peers(rank, 1)) {
      if (broken.left) failures_.note_left(rank);
      failures_.say_failed(rank, broken.code, broken.why);
    }
  } catch (const std::bad_alloc&) {  // the next call says it
  }
  return code;
}

std::vector<EndpointPool::Broken> EndpointPool::broken_peers(uint32_t first, uint32_t count) const {
  std::vector<Broken> broken;
  const uint32_t end = first + std::min(count, ranks_ - first);
  for (uint32_t rank = first; rank < end; ++rank) {
    const conduit::Endpoint* failed = nullptr;
    int code = OMPL_OK;
    for (const Slot& slot : slots_) {
      const int found = slot.endpoint->loss(rank);
      if (found == OMPL_OK || code == OMPL_ERR_PEER) continue;
      failed = slot.endpoint.get();
      code = found;
    }
    if (failed == nullptr) continue;
    const bool left = departed(rank);
    if (left && failures_.in_last_barrier()) continue;
    broken.push_back({rank, left ? int{OMPL_ERR_PEER} : code, left, failed->reason(rank)});
  }
  return broken;
}

bool EndpointPool::departed(uint32_t rank) const {
  return std::ranges::any_of(slots_, [rank](const Slot& slot) {
    return slot.endpoint->loss(rank) != OMPL_OK && slot.endpoint->departed(rank);
  });
}

bool EndpointPool::is_sound() const {
  if (overwhelmed_.load()) return false;
  const auto is_watched = [this](int fd) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    return ::epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event) == 0;
  };
  return is_watched(sleepers_.pipe_reader()) && std::ranges::all_of(slots_, [&](const Slot& slot) {
           const int fd = slot.endpoint->descriptor();
           return fd < 0 || is_watched(fd);
         });
}

int EndpointPool::severed() const {
  return fail_quietly_with(OMPL_ERR_LINK, [this] { return std::string(why_severed()); });
}

void EndpointPool::sever() {
  is_severed_.store(true);
  const std::scoped_lock lock(news_mutex_);
  has_news_.store(true);
}

}  // namespace ompl
