// SPDX-License-Identifier: BSD-3-Clause
// Who acts in a replay: threads of ranks, and what goes on in their background.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/replay/message.hpp"
#include "model/replay/replay.hpp"
#include "model/trace.hpp"

namespace ompl::model {

// What a request or a blocking call stands for: one side of a message, or a branch.
struct Side {
  uint32_t message = kNone;  // or the number of the branch
  bool is_send = false;
  bool is_branch = false;
};

// Why a thread does not go on, unless its present call waits for the end of something.
enum class Stall : uint8_t {
  none,
  room,    // of an eager buffer
  turn,    // threads beside it may call something before
  handed,  // another thread is to hand something over
};

template <class Clock>
struct Thread {
  Caller caller{};             // of a branch: the thread whose call began it, or the first of its rank
  bool beside_others = false;  // its rank has several
  Clock now{};
  Clock
      network_free{};  // LogGOPS: when the network can take its next message; of a rank, in its first thread
  std::vector<Side> requests;
  std::size_t first_open = 0;  // of requests
  uint64_t forgotten = 0;      // requests before the first of the vector
  std::vector<Side> waiting;   // the sides that its present call is for
  uint32_t pending = 0;        // of them: those whose end is not known
  uint32_t site = 0;           // of that call
  bool waits = false;          // that call is a wait
  Stall stall = Stall::none;
  bool over = false;
  Breakdown times;        // where its time went
  uint64_t computed = 0;  // computations so far, for the noise
  double marked = 0;      // time between marks
  double marked_at = -1;  // the mark that began it; less: none
  Op held;                // what it cannot do yet, if it is stalled

  // Takes out a request, which is of no message if it is not open.
  Side take(uint64_t request) {
    const uint64_t at = request - forgotten;
    if (request < forgotten || at >= requests.size()) return {kNone};
    const Side out = std::exchange(requests[at], Side{kNone});
    while (first_open < requests.size() && requests[first_open].message == kNone) ++first_open;
    if (first_open == requests.size() || first_open == kManyClosed) {
      requests.erase(requests.begin(), requests.begin() + static_cast<std::ptrdiff_t>(first_open));
      forgotten += first_open;
      first_open = 0;
    }
    return out;
  }

 private:
  static constexpr std::size_t kManyClosed =
      1024;  // requests, before the memory of the first is used again
};

// Time within a call that is waiting.
struct Wait {
  double begin, end;
  bool is_send;
};

// What a thread has handed to another of its rank, or is to.
template <class Clock>
struct Handed {
  bool there = false;
  Side side;  // of no message: the moment alone
  Clock when{};
  uint32_t waiter = kNone;
};

// What goes on in the background of a thread, which it is otherwise like: the same calls, whose time is nobody's but that
// of a wait for the branch.
template <class Clock>
struct Branch : Thread<Clock> {
  std::vector<Op> ops;
  std::size_t next = 0;     // of ops
  std::vector<Wait> waits;  // so far
  uint32_t waiter = kNone;  // who stands still for its end
  bool detached = false;    // nobody waits for it
};

// By how much a computation is disturbed: from 0 on, on average 1, the same for the same arguments.
inline double exponential(uint64_t seed, uint64_t rank, uint64_t count) {
  uint64_t x = seed + 0x9e3779b97f4a7c15 * (count + 1) + 0xd1342543de82ef95 * (rank + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  x ^= x >> 31;
  return -std::log((static_cast<double>(x >> 11) + 1) * 0x1p-53);
}

}  // namespace ompl::model
