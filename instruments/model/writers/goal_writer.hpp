// SPDX-License-Identifier: BSD-3-Clause
// Writes a trace as a GOAL schedule, so that read_goal() replays it as it was: an operation requires the blocking call
// or the waits before it, and begins after (irequires) the one before it otherwise.
#pragma once

#include <cstdint>
#include <ostream>

#include "model/trace.hpp"

namespace ompl::model {

// What GOAL cannot say.
struct GoalLosses {
  uint64_t synchronous =
      0;  // sends that wait for their receiver at any length: written as ordinary ones
};

// Tags are numbered anew if there are several communicators, which GOAL has not. Memory: the open requests.
// Whether all could be written, `out` says.
GoalLosses write_goal(const Trace& trace, std::ostream& out);

}  // namespace ompl::model
