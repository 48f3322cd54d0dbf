// SPDX-License-Identifier: BSD-3-Clause
// The calls of one kind on one tag queue: what each takes, how long it took, and on what the members agree. Made by the thread that
// starts collectives of the tag queue; else used by whoever has claimed it. Times may be noted by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "coll/schedule/operation.hpp"
#include "coll/tuner/candidates.hpp"
#include "coll/tuner/table.hpp"
#include "coll/tuner/tuner.hpp"

namespace ompl::coll {

// What a call takes, and where its time is noted.
struct Ticket {
  uint32_t candidate = 0;
  uint32_t epoch = 0;  // 0: its time is not wanted
  uint32_t call = 0;   // of the epoch

  [[nodiscard]] bool is_timed() const { return epoch != 0; }
};

class Tuning {
 public:
  // `choices`: the short list, two at least; `known`: what the table knows of each, in seconds, else 0.
  Tuning(const CallKind& kind, std::vector<TunerChoice> choices, std::span<const double> known);

  [[nodiscard]] const CallKind& kind() const { return kind_; }
  [[nodiscard]] const std::vector<TunerChoice>& choices() const { return choices_; }
  [[nodiscard]] const Tuner& tuner() const { return tuner_; }
  // Adds what was compared, once it has settled for the first time.
  void tell(Table* table) const;

  // The epoch is over: members agree on its times before the next call.
  [[nodiscard]] bool over() const { return taken_ == passing_ + calls_.size() + slack_; }
  // What this member found, as many numbers for every epoch; they are combined by agreement(). 0: not noted yet.
  [[nodiscard]] std::vector<double> times() const;
  // The least, since who comes last to a call sees its bare time; the greatest where some are done early, and of times that
  // hold a member's computation, whose slowest the others wait for.
  [[nodiscard]] const ReductionOperation& agreement() const;
  // What was agreed on; the next epoch begins. True if something was decided: for the first time, again, or otherwise.
  bool learn(std::span<const double> agreed);

  // The next call; not while the epoch is over.
  Ticket take();
  // Of a call that was taken, in any order; of an epoch that is gone it is forgotten. Any thread.
  void note(const Ticket& ticket, double seconds);

 private:
  void begin_epoch();

  const CallKind kind_;
  const std::vector<TunerChoice> choices_;  // by candidate
  Tuner tuner_;
  bool decided_;
  struct Planned {
    uint32_t candidate = 0;
    bool timed = false;
  };
  std::vector<Planned> calls_;  // of the epoch
  Plan timed_;                  // its runs, without the calls that are not timed
  // Calls before and behind them whose times are not wanted: the first waits for members that begin late, later ones have the
  // agreement in them; behind, so that what is still under way when the epoch is over has been noted by then.
  const uint32_t passing_;
  uint32_t slack_ = 0;
  uint32_t taken_ = 0;
  uint32_t epoch_ = 0;
  std::vector<std::atomic<uint64_t>> noted_;  // by call: the epoch, and seconds as a float
};

// The allreduce, in place, by which the members of `call` agree on `count` times.
[[nodiscard]] CollectiveCall exchange_of_times(const CollectiveCall& call, std::size_t count,
                                               uint32_t most_combined);

}  // namespace ompl::coll
