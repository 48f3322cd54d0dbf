// SPDX-License-Identifier: BSD-3-Clause
// A collective as one rank carries it out: steps, in rounds. The steps of a round go on side by side, in any order; the next
// round begins when all are done (T. Hoefler, A. Lumsdaine, W. Rehm, "Implementation and performance analysis of non-blocking
// collective operations for MPI", 2007). Flat, and of places instead of addresses, so that one schedule serves all
// calls of the same shape; never changed once it is compiled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ompl::coll {

class Tuning;

enum class CallBuffer : uint8_t { send, receive, scratch };

// Bytes of one of a call's buffers.
struct Place {
  CallBuffer buffer = CallBuffer::send;
  uint64_t offset = 0;

  [[nodiscard]] Place plus(uint64_t bytes) const { return {buffer, offset + bytes}; }
  bool operator==(const Place&) const = default;
};

struct ScheduleStep {
  enum class Kind : uint8_t {
    send,     // `from` to `peer`
    receive,  // `to` from `peer`
    combine,  // to = what comes from `peer` op from; `from` and `to` may be the same
    copy,     // to = from
    reduce,   // to = to op from, both own
  };
  Kind kind = Kind::copy;
  bool straight =
      false;  // may go into the receiver's buffer without passing through cells; the same at both ends
  bool behind = false;  // combine: from op what comes; reduce: to op from, else from op to
  uint32_t peer = 0;    // a member of the team
  uint64_t length = 0;  // bytes; 0 only if nothing but the arrival counts
  Place from{};
  Place to{};

  [[nodiscard]] bool has_peer() const { return kind <= Kind::combine; }
};

struct Schedule {
  std::vector<ScheduleStep> steps;
  std::vector<uint32_t> rounds;  // where each ends among the steps
  uint32_t widest = 0;           // steps of the largest round
  uint64_t scratch = 0;          // bytes
  uint64_t bytes = 0;            // that this rank sends and receives
};

// A call ready to be started: its schedule or, where the tuner decides when the call's turn comes, one for each candidate.
struct Prepared {
  std::vector<std::shared_ptr<const Schedule>> schedules;  // one, or by candidate
  uint64_t number = 0;                                     // of its tag queue: no two have the same
  Tuning* tuning = nullptr;                                // null: nothing is left open
  std::shared_ptr<const Schedule> exchange;                // of its times
  bool can_be_offloaded = false;                           // by the node's progress thread
  // The most of any.
  uint32_t widest = 0;
  uint64_t scratch = 0;
  uint64_t bytes = 0;

  void add(std::shared_ptr<const Schedule> schedule) {
    make_room(*schedule);
    bytes = std::max(bytes, schedule->bytes);
    schedules.push_back(std::move(schedule));
  }
  void make_room(const Schedule& schedule) {
    widest = std::max(widest, schedule.widest);
    scratch = std::max(scratch, schedule.scratch);
  }
};

}  // namespace ompl::coll
