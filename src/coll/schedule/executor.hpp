// SPDX-License-Identifier: BSD-3-Clause
// Carries out the steps of a schedule on the channels of a member.
//
// Thread rule: one thread at a time, which has claimed the tag queue.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "coll/channel.hpp"
#include "coll/schedule/execution.hpp"

namespace ompl::coll {

class Team;

class Executor {
 public:
  // `channels`: by member of the team.
  Executor(Team& team, std::vector<Channel> channels) : team_(team), channels_(std::move(channels)) {}

  enum class Turn : uint8_t { blocked, again, moved, done };
  static constexpr int kTurns = 64;  // before others get a turn
  // Goes on with `turns` rounds at most, as far as can be without waiting: done, blocked until something arrives, or again in a moment.
  Turn advance(Context& c, Execution& execution, int turns);

  // Grows with all that is done here.
  [[nodiscard]] uint64_t moves() const { return moves_.load(std::memory_order_relaxed); }

 private:
  Turn step(Context& c, Execution& execution, const ScheduleStep& step, Progress& progress);
  Turn send(Context& c, Execution& execution, const ScheduleStep& step, Progress& progress);
  Turn send_straight(Context& c, Execution& execution, const ScheduleStep& step, Progress& progress);
  Turn receive(Context& c, Execution& execution, const ScheduleStep& step, Progress& progress);
  Turn outcome(int code);
  static void rework(Execution& execution, const ScheduleStep& step);
  static void accept(Execution& execution, const ScheduleStep& step, std::byte* data, uint64_t at,
                     std::size_t length);
  static void note_others(Execution& execution, int code);
  [[nodiscard]] uint64_t piece(const Execution& execution) const;

  Team& team_;
  std::vector<Channel> channels_;
  std::atomic<uint64_t> moves_{0};  // of whoever has claimed
};

}  // namespace ompl::coll
