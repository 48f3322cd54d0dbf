// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/locked_queue.hpp"

#include <utility>

#include "coll/tag_queue.hpp"

namespace ompl::coll {
namespace {

constexpr int kTasks = 64;  // that a thread takes before it looks elsewhere

}  // namespace

void LockedQueue::add(Lane& lane) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(lane.queued, true)) tasks_.push_back(&lane);
}

void LockedQueue::drive(Context& c, bool* again) {
  std::size_t seen = 0;  // since one moved
  for (int i = 0; i < kTasks; ++i) {
    Lane* const lane = take(seen, again);
    if (lane == nullptr) return;
    bool retry = false;
    if (lane->turn(c, &retry)) {
      seen = 0;
    } else {
      ++seen;
      *again = *again || retry;
    }
    put_back(*lane);
  }
  *again = true;
}

// What this thread needs may have been found by one that has a task: it must not go to sleep.
Lane* LockedQueue::take(std::size_t seen, bool* again) {
  const std::lock_guard lock(mutex_);
  if (seen >= tasks_.size()) {
    if (taken_ > 0) *again = true;
    return nullptr;
  }
  Lane* const lane = tasks_.front();
  tasks_.pop_front();
  ++taken_;
  return lane;
}

void LockedQueue::put_back(Lane& lane) {
  const std::lock_guard lock(mutex_);
  --taken_;
  lane.queued = lane.busy();
  if (lane.queued) tasks_.push_back(&lane);
}

}  // namespace ompl::coll
