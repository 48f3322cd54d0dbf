// SPDX-License-Identifier: BSD-3-Clause
// The calls of one kind on one lane: what each takes, how long it took, and on what the members agree. Made by the thread that
// starts collectives of the lane; else used by whoever has claimed it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coll/operation.hpp"
#include "coll/tuner/candidates.hpp"
#include "coll/tuner/epoch.hpp"
#include "coll/tuner/table.hpp"
#include "coll/tuner/tuner.hpp"

namespace ompl::coll {

class Tuning {
 public:
  // `algorithms`: the short list, two at least; `known`: what the table knows of each, in seconds, else 0.
  Tuning(const Kind& kind, std::vector<int32_t> algorithms, std::span<const double> known);

  [[nodiscard]] const Kind& kind() const { return kind_; }
  [[nodiscard]] const std::vector<int32_t>& algorithms() const { return algorithms_; }
  [[nodiscard]] const Tuner& tuner() const { return tuner_; }
  // Adds what was compared, once it has settled for the first time.
  void tell(Table* table) const;

  // The epoch is over: members agree on its times before the next call.
  [[nodiscard]] bool over() const { return epoch_.over(); }
  // What this member found, as many numbers for every epoch; they are combined by agreement().
  [[nodiscard]] std::vector<double> times() const;
  // The least, since who comes last to a call sees its bare time; the greatest where some are done early.
  [[nodiscard]] const Operation& agreement() const;
  // What was agreed on; the next epoch begins. True if something was decided: for the first time, again, or otherwise.
  bool learn(std::span<const double> agreed);

  // Of the next call; not while the epoch is over.
  [[nodiscard]] uint32_t candidate() const { return epoch_.candidate(); }
  void note(double seconds) { epoch_.note(seconds); }

 private:
  const Kind kind_;
  const std::vector<int32_t> algorithms_;  // by candidate
  Tuner tuner_;
  Epoch epoch_;
  bool decided_;
};

// The allreduce, in place, by which the members of `call` agree on `count` times.
[[nodiscard]] Call exchange_of_times(const Call& call, std::size_t count, uint32_t most_combined);

}  // namespace ompl::coll
