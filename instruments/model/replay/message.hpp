// SPDX-License-Identifier: BSD-3-Clause
// A message on its way: the record that its send and its receive share once they are matched.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "model/replay/clock.hpp"
#include "model/trace.hpp"

namespace ompl::model {

constexpr uint32_t kNone = UINT32_MAX;

// By what a receive finds its message. In receives that take any, source or tag is Op::kAny.
struct Envelope {
  uint32_t target = 0;
  int32_t source = 0;
  int32_t tag = 0;
  uint32_t communicator = 0;
  bool operator==(const Envelope&) const = default;

  [[nodiscard]] bool any() const { return source == Op::kAny || tag == Op::kAny; }
  [[nodiscard]] uint32_t hash() const {
    uint64_t h = (uint64_t{target} << 32 | static_cast<uint32_t>(source)) * 0x9e3779b97f4a7c15;
    h = (h ^ h >> 29 ^ (uint64_t{communicator} << 32 | static_cast<uint32_t>(tag))) *
        0xbf58476d1ce4e5b9;
    return static_cast<uint32_t>(h >> 32);
  }
};

// Who calls: a thread as the trace numbers it.
struct Caller {
  uint32_t rank = 0, thread = 0;
  // What only its rank numbers so.
  [[nodiscard]] uint64_t numbered(uint64_t number) const { return uint64_t{rank} << 32 | number; }
};

// The order of messages to which the same happens at one instant.
struct Turn {
  int32_t source;
  double sent_ns;
  uint64_t order;
  auto operator<=>(const Turn&) const = default;
};

template <class Clock>
struct Message {
  Envelope envelope;
  uint32_t send_site = 0, recv_site = 0;
  uint32_t next = kNone;  // in its list of what waits for a match; kNone: the last
  uint32_t last = kNone;  // of the list's first: the last
  uint32_t send_waiter = kNone, recv_waiter = kNone;  // who stands still for it
  uint32_t thread = 0;  // that sends; while there is only a receive: that receives
  bool has_send : 1 = false, has_recv : 1 = false;
  bool rendezvous : 1 = false;
  bool unlimited : 1 = true;                            // by an eager buffer
  bool arrived : 1 = false;                             // arrival is known
  bool send_known : 1 = false, recv_known : 1 = false;  // the end is
  bool send_over : 1 = false, recv_over : 1 = false;    // the rank has no more to do with it
  bool held : 1 = false;                                // an event will still look at it
  bool moved : 1 = false;                               // a receive from any, whose message is `next`
  bool away : 1 = false;       // only what is the sender's of it: the receiver is another group's
  bool from_afar : 1 = false;  // the sender is; `send_waiter` is the number of its part there
  Clock sent{};                // ts: call of the send
  Clock posted{};              // tr: call of the receive
  Clock began{};               // where its use of the bandwidth begins
  Clock arrival{};             // of its last byte
  Clock send_end{};            // of the call, were it a blocking one
  Clock recv_end{};
  uint64_t bytes = 0;
  uint64_t order = 0;  // of its rank's sends, or receives, while it has no partner

  [[nodiscard]] Turn turn() const { return {envelope.source, ns(sent), order}; }
};

// What a call that does not end does, for people.
template <class Clock>
[[nodiscard]] std::string open_side(const Message<Clock>& m, bool is_send) {
  if (is_send)
    return fmt::format("sends {} bytes to rank {}, tag {}, but {}", m.bytes, m.envelope.target,
                       m.envelope.tag, m.has_recv ? "the message does not end" : "nobody receives");
  const auto [target, source, tag, communicator] = m.envelope;
  return fmt::format("receives from {}, tag {}, but nobody sends",
                     source == Op::kAny ? "any rank" : fmt::format("rank {}", source),
                     tag == Op::kAny ? "any" : std::to_string(tag));
}

// Messages by number; a number is used again once freed. make() may move them.
template <class Clock>
class Messages {
 public:
  Message<Clock>& operator[](uint32_t i) { return all_[i]; }
  const Message<Clock>& operator[](uint32_t i) const { return all_[i]; }

  uint32_t make() {
    if (free_ == kNone) {
      all_.emplace_back();
      return static_cast<uint32_t>(all_.size() - 1);
    }
    const uint32_t i = free_;
    free_ = all_[i].next;
    all_[i] = Message<Clock>{};
    return i;
  }
  void free(uint32_t i) {
    all_[i].next = free_;
    all_[i].has_send = all_[i].has_recv = false;
    free_ = i;
  }

  template <class Function>
  void each_unmatched(Function function) const {
    for (const Message<Clock>& m : all_)
      if (m.has_send != m.has_recv && !m.moved && !m.away) function(m);
  }

 private:
  std::vector<Message<Clock>> all_;
  uint32_t free_ = kNone;
};

}  // namespace ompl::model
