// SPDX-License-Identifier: BSD-3-Clause
// A call ready to be started: its schedule or, where the tuner decides when the call's turn comes, one for each candidate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "coll/schedule/schedule.hpp"

namespace ompl::coll {

class Tuning;

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
