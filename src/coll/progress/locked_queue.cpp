// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/locked_queue.hpp"

#include <utility>

#include "coll/tag_queue.hpp"

namespace ompl::coll {
namespace {

constexpr int kTasks = 64;  // that a thread takes before it looks elsewhere

}  // namespace

void LockedQueue::add(TagQueue& queue) {
  const Lock lock(mutex_);
  if (!std::exchange(queue.queued, true)) tasks_.push_back(&queue);
}

void LockedQueue::drive(Context& c, bool* again) {
  std::size_t seen = 0;  // since one moved
  for (int i = 0; i < kTasks; ++i) {
    TagQueue* const queue = take(seen, again);
    if (queue == nullptr) return;
    bool retry = false;
    if (queue->turn(c, &retry)) {
      seen = 0;
    } else {
      ++seen;
      *again = *again || retry;
    }
    put_back(*queue);
  }
  *again = true;
}

// What this thread needs may have been found by one that has a task: it must not go to sleep.
TagQueue* LockedQueue::take(std::size_t seen, bool* again) {
  const Lock lock(mutex_);
  if (seen >= tasks_.size()) {
    if (taken_ > 0) *again = true;
    return nullptr;
  }
  TagQueue* const queue = tasks_.front();
  tasks_.pop_front();
  ++taken_;
  return queue;
}

void LockedQueue::put_back(TagQueue& queue) {
  const Lock lock(mutex_);
  --taken_;
  queue.queued = queue.busy();
  if (queue.queued) tasks_.push_back(&queue);
}

}  // namespace ompl::coll
