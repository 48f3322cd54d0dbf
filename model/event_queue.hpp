// SPDX-License-Identifier: BSD-3-Clause
// Events by time: a heap with four children to a node, so that a node's children share a cache line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ompl::model {

// In the order in which events of one time are taken.
enum class EventKind : uint32_t {
  freed,     // a message left the eager buffer; id: message
  envelope,  // reaches a rank that receives from any; id: message
  begin,     // a message begins to use its receiver's bandwidth; id: message
  end,       // one may have ended; id: receiver
  queued,    // LogGOPS: its first byte reaches the receiver; id: message
};

struct Event {
  double ns;
  EventKind kind;
  uint32_t id;

  [[nodiscard]] bool before(const Event& other) const {
    return ns < other.ns || (ns == other.ns && kind < other.kind);
  }
};

class EventQueue {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Event& top() const { return heap_.front(); }

  void push(const Event& event) {
    std::size_t at = heap_.size();
    heap_.push_back(event);
    for (; at > 0; at = (at - 1) / kChildren) {
      const std::size_t parent = (at - 1) / kChildren;
      if (!event.before(heap_[parent])) break;
      heap_[at] = heap_[parent];
    }
    heap_[at] = event;
  }

  Event pop() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    const std::size_t size = heap_.size();
    std::size_t at = 0;
    while (at * kChildren + 1 < size) {
      const std::size_t child = at * kChildren + 1;
      std::size_t best = child;
      for (std::size_t i = child + 1; i < std::min(child + kChildren, size); ++i)
        if (heap_[i].before(heap_[best])) best = i;
      if (!heap_[best].before(last)) break;
      heap_[at] = heap_[best];
      at = best;
    }
    if (size > 0) heap_[at] = last;
    return first;
  }

 private:
  static constexpr std::size_t kChildren = 4;
  std::vector<Event> heap_;
};

}  // namespace ompl::model
