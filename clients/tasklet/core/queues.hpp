// SPDX-License-Identifier: BSD-3-Clause
// The tasks that may run. Each worker has a queue of tasks without priority: it takes from the end where it adds, others steal from
// the other end. Tasks with a priority, which are few, are in one place for all.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/spin_lock.hpp"
#include "core/task.hpp"

namespace tasklet {

// A task may begin only in a worker that could also suspend it.
enum class Take { any, suspended };

class Queue {
 public:
  Queue() : ring_(kFirst) {}

  void push(Task* task);
  // Rarely: in front of all others, so that the worker itself comes to it last.
  void push_last(Task* task);
  Task* pop(Take what) { return take(what, true); }
  Task* steal(Take what) { return take(what, false); }
  [[nodiscard]] bool empty() const { return count_.load(std::memory_order_seq_cst) == 0; }

 private:
  static constexpr std::size_t kFirst = 256;
  Task* take(Take what, bool newest);
  void grow();
  [[nodiscard]] Task*& at(std::size_t index) { return ring_[index & (ring_.size() - 1)]; }

  alignas(64) SpinLock lock_;
  std::atomic<std::size_t> count_{0};
  std::size_t begin_ = 0;
  std::vector<Task*> ring_;
};

class PriorityQueues {
 public:
  static constexpr int kMost = 7;  // -7 .. 7, without 0
  void push(Task* task) {
    of(task->priority).push(task);
    count_[task->priority > 0].fetch_add(1, std::memory_order_seq_cst);
  }
  Task* take(bool raised, Take what);
  [[nodiscard]] bool empty(bool raised) const {
    return count_[raised].load(std::memory_order_seq_cst) == 0;
  }

 private:
  Queue& of(int priority) { return queues_[static_cast<std::size_t>(priority + kMost)]; }
  std::array<Queue, 2 * kMost + 1> queues_;
  std::array<std::atomic<uint32_t>, 2> count_{};  // below and above 0
};

}  // namespace tasklet
