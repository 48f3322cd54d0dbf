// SPDX-License-Identifier: BSD-3-Clause
// The bandwidth of one receiver. p messages that use it at once go on at 1/p of their speed each, and p changes
// whenever one begins or ends (section 3.2: the effective bandwidth varies with the progress of the replay). A
// virtual time that passes at 1/p of real time tells when each ends, with O(log p) work for each change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "model/replay/message.hpp"

namespace ompl::model {

// What will happen at a receiver, in the order in which events of one time are taken.
enum class EventKind : uint32_t {
  freed,     // a message left the eager buffer
  envelope,  // reaches a rank that receives from any
  begin,     // begins to use the bandwidth
  queued,    // LogGOPS: its first byte reaches the receiver
  call,      // a thread of this rank sends or receives; `message` is the thread
};

struct Event {
  double ns;
  EventKind kind;
  uint32_t message;

  [[nodiscard]] bool operator>(const Event& other) const {
    return ns > other.ns || (ns == other.ns && kind > other.kind);
  }
};

template <class Clock>
class Port {
 public:
  std::vector<Event> events;  // heap, the first in front

  void push(const Event& event) {
    events.push_back(event);
    std::ranges::push_heap(events, std::greater<>{});
  }
  Event pop() {
    std::ranges::pop_heap(events, std::greater<>{});
    const Event event = events.back();
    events.pop_back();
    return event;
  }
  // When something happens next; infinity: never.
  [[nodiscard]] double next_event() const { return events.empty() ? kNever_ns : events.front().ns; }
  [[nodiscard]] double next_end_ns() const { return idle() ? kNever_ns : ns(next_end()); }

  // A message whose use would take `work` alone begins at `now`, not before any earlier change. At one instant they end
  // in their turn.
  void begin(uint32_t message, const Clock& now, const Clock& work, const Turn& turn) {
    advance(now);
    using_.push_back({virtual_ + work, message, turn});
    std::ranges::push_heap(using_, Later{});
    set_end();
  }

  [[nodiscard]] bool idle() const { return using_.empty(); }

  // When the first ends, if no other begins before.
  [[nodiscard]] const Clock& next_end() const { return end_; }

  // That message, which ends now.
  uint32_t end() {
    virtual_ = using_.front().finish;
    changed_ = end_;
    const uint32_t message = using_.front().message;
    std::ranges::pop_heap(using_, Later{});
    using_.pop_back();
    if (using_.empty())
      virtual_ = Clock{};  // small numbers are exact
    else
      set_end();
    return message;
  }

 private:
  static constexpr double kNever_ns = std::numeric_limits<double>::infinity();

  struct Use {
    Clock finish;  // in virtual time
    uint32_t message;
    Turn turn;
  };
  struct Later {
    bool operator()(const Use& a, const Use& b) const {
      if (ns(a.finish) != ns(b.finish)) return ns(a.finish) > ns(b.finish);
      return a.turn > b.turn;
    }
  };

  void set_end() {
    const Clock left = using_.front().finish - virtual_;
    end_ = changed_ + left * static_cast<double>(using_.size());
  }

  void advance(const Clock& now) {
    if (!using_.empty()) {
      const Clock passed = now - changed_;
      virtual_ += passed * (1.0 / static_cast<double>(using_.size()));
    }
    changed_ = now;
  }

  std::vector<Use> using_;  // heap, the first to end in front
  Clock virtual_{};
  Clock changed_{};  // when virtual_ was true
  Clock end_{};      // of the first, if nothing changes
};

}  // namespace ompl::model
