// SPDX-License-Identifier: BSD-3-Clause
#include "core/queues.hpp"

#include <mutex>
#include <utility>

namespace tasklet {
namespace {

bool fits(const Task& task, Take what) { return what == Take::any || task.fiber != nullptr; }

}  // namespace

void Queue::grow() {
  std::vector<Task*> larger(ring_.size() * 2);
  const std::size_t count = count_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) larger[i] = at(begin_ + i);
  ring_ = std::move(larger);
  begin_ = 0;
}

void Queue::push(Task* task) {
  const std::lock_guard lock(lock_);
  const std::size_t count = count_.load(std::memory_order_relaxed);
  if (count == ring_.size()) grow();
  at(begin_ + count) = task;
  count_.store(count + 1, std::memory_order_seq_cst);
}

void Queue::push_last(Task* task) {
  const std::lock_guard lock(lock_);
  const std::size_t count = count_.load(std::memory_order_relaxed);
  if (count == ring_.size()) grow();
  at(--begin_) = task;
  count_.store(count + 1, std::memory_order_seq_cst);
}

Task* Queue::take(Take what, bool newest) {
  if (empty()) return nullptr;
  const std::lock_guard lock(lock_);
  const std::size_t count = count_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t found = newest ? begin_ + count - 1 - i : begin_ + i;
    Task* const task = at(found);
    if (!fits(*task, what)) continue;
    if (newest) {
      for (std::size_t k = found; k != begin_ + count - 1; ++k) at(k) = at(k + 1);
    } else {
      for (std::size_t k = found; k != begin_; --k) at(k) = at(k - 1);
      ++begin_;
    }
    count_.store(count - 1, std::memory_order_seq_cst);
    return task;
  }
  return nullptr;
}

Task* PriorityQueues::take(bool raised, Take what) {
  if (empty(raised)) return nullptr;
  const int highest = raised ? kMost : -1;
  const int lowest = raised ? 1 : -kMost;
  for (int priority = highest; priority >= lowest; --priority) {
    if (Task* const task = of(priority).steal(what)) {
      count_[raised].fetch_sub(1, std::memory_order_seq_cst);
      return task;
    }
  }
  return nullptr;
}

}  // namespace tasklet
