// SPDX-License-Identifier: BSD-3-Clause
// What algorithms write their schedules with. In a round a rank sends to, and receives from, a peer at most once; what it
// sends to a peer in several rounds is received there in the same order.
#pragma once

#include <vector>

#include "coll/call.hpp"
#include "coll/schedule/schedule.hpp"

namespace ompl::coll {

// Consecutive bytes of a buffer.
struct Range {
  Place place;
  uint64_t length = 0;
};
using Ranges = std::vector<Range>;

class Builder {
 public:
  explicit Builder(const CollectiveCall& call) : call_(call) {}

  // What follows numbers peers by their places in this list; an empty one: by their places in the team.
  void among(const std::vector<uint32_t>& members) { members_ = members; }

  // What follows means these places by the buffers of its call.
  void buffers(Place sent, Place received) {
    sent_ = sent;
    received_ = received;
  }

  // Of no bytes: only the arrival counts.
  void notify(uint32_t peer) { add({.kind = ScheduleStep::Kind::send, .peer = peer}); }
  void await(uint32_t peer) { add({.kind = ScheduleStep::Kind::receive, .peer = peer}); }

  // Each does nothing if `length` is 0, at both ends.
  void send(uint32_t peer, Place from, uint64_t length);
  void receive(uint32_t peer, Place to, uint64_t length);
  // Without combining it, what the peer sends to be combined.
  void receive_uncombined(uint32_t peer, Place to, uint64_t length);
  // What the peer combines, or what comes from it combined: to = what comes op from. `behind`: from op what comes.
  void send_combined(uint32_t peer, Place from, uint64_t length);
  void combine(uint32_t peer, Place from, Place to, uint64_t length, bool behind = false);
  // to = from op to, both own. `behind`: to op from.
  void reduce(Place from, Place to, uint64_t length, bool behind = false);
  // Nothing if they are the same.
  void copy(Place from, Place to, uint64_t length);

  // Sends ranges to one peer and receives ranges from another, in as many rounds as it takes. Begins and ends a round.
  void exchange(uint32_t to, const Ranges& out, uint32_t from, const Ranges& in);

  // What follows waits for all so far.
  void next_round();

  // Room in scratch memory.
  Place scratch(uint64_t length);

  Schedule finish();

 private:
  void add(const ScheduleStep& step);
  [[nodiscard]] Place real(Place place) const;

  const CollectiveCall& call_;
  Schedule schedule_;
  std::vector<uint32_t> members_;
  Place sent_ = kSent;
  Place received_ = kReceived;
  std::vector<ScheduleStep> afterwards_;  // own reductions of what a round received whole
};

// Those that follow each other joined, empty ones left out.
Ranges joined(const Ranges& ranges);

}  // namespace ompl::coll
