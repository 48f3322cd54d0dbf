// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tuner/tuning.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

// Calls of a run that are timed, if it has more: two readings of the clock take a third of the time of the shortest calls.
constexpr uint32_t kTimed = 8;
constexpr uint32_t kMostSlack = 31;  // calls: more are not expected to be under way at once

// Of a time that holds a member's computation and its lateness one call says little.
Tuner tuner_of(std::size_t candidates, bool modes, std::span<const double> known) {
  Tuner tuner(static_cast<uint32_t>(candidates), modes);
  if (std::ranges::any_of(known, [](double seconds) { return seconds > 0; })) tuner.recall(known);
  return tuner;
}

ReductionOperation of_times(int32_t op) {
  ReductionOperation operation;
  operation.kernel = kernel_of(OMPL_DOUBLE, op, &operation.element);
  return operation;
}

bool some_are_done_early(int32_t collective) {
  return collective == OMPL_BROADCAST || collective == OMPL_REDUCE || collective == OMPL_GATHER ||
         collective == OMPL_SCATTER || collective == OMPL_SCAN || collective == OMPL_EXSCAN;
}

}  // namespace

Tuning::Tuning(const CallKind& kind, std::vector<TunerChoice> choices, std::span<const double> known)
    : kind_(kind),
      choices_(std::move(choices)),
      tuner_(tuner_of(choices_.size(), kind.modes, known)),
      decided_(tuner_.settled()),
      passing_(kind.modes ? 1 : 0),
      noted_(tuner_.most_calls()) {
  begin_epoch();
}

void Tuning::begin_epoch() {
  calls_.clear();
  timed_.clear();
  for (const Run& run : tuner_.plan()) {
    const uint32_t apart = (run.calls + kTimed - 1) / kTimed;
    for (uint32_t call = 0; call < run.calls; ++call)
      calls_.push_back({.candidate = run.candidate, .timed = call % apart == 0});
    timed_.push_back({.candidate = run.candidate, .calls = (run.calls + apart - 1) / apart});
  }
  taken_ = 0;
  ++epoch_;
}

void Tuning::tell(Table* table) const {
  if (!decided_ || tuner_.calls() == 0) return;
  Table::Entry entry{.calls = tuner_.calls(), .microseconds = {}};
  for (uint32_t c = 0; c < choices_.size(); ++c)
    if (tuner_.compared(c)) entry.microseconds[choices_[c]] = tuner_.estimate(c) * 1e6;
  table->add(kind_, std::move(entry));
}

Ticket Tuning::take() {
  const uint32_t call = taken_++ - passing_;  // wraps around before the first
  if (call >= calls_.size()) return {.candidate = tuner_.best()};
  const Planned& planned = calls_[call];
  return {.candidate = planned.candidate, .epoch = planned.timed ? epoch_ : 0, .call = call};
}

void Tuning::note(const Ticket& ticket, double seconds) {
  if (!ticket.is_timed()) return;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(seconds));
  noted_[ticket.call].store(uint64_t{ticket.epoch} << 32 | bits, std::memory_order_relaxed);
}

std::vector<double> Tuning::times() const {
  Epoch epoch(timed_);
  for (std::size_t call = 0; call < calls_.size(); ++call) {
    if (!calls_[call].timed) continue;
    const uint64_t noted = noted_[call].load(std::memory_order_relaxed);
    const bool now = noted >> 32 == epoch_;
    epoch.note(now ? std::bit_cast<float>(static_cast<uint32_t>(noted)) : 0.0F);
  }
  std::vector<double> times = epoch.times();
  times.resize(tuner_.most_runs());
  return times;
}

const ReductionOperation& Tuning::agreement() const {
  static const ReductionOperation kLeast = of_times(OMPL_MIN);
  static const ReductionOperation kGreatest = of_times(OMPL_MAX);
  return kind_.modes || some_are_done_early(kind_.collective) ? kGreatest : kLeast;
}

bool Tuning::learn(std::span<const double> agreed) {
  const bool settled = tuner_.settled();
  const uint32_t best = tuner_.best();
  const auto times = agreed.first(tuner_.plan().size());
  if (kind_.modes) {
    const bool missing = std::ranges::any_of(times, [](double seconds) { return seconds <= 0; });
    if (missing) slack_ = std::min(2 * slack_ + 1, kMostSlack);
  }
  tuner_.learn(times);
  begin_epoch();
  decided_ = decided_ || tuner_.settled();
  return tuner_.settled() && (!settled || tuner_.best() != best);
}

CollectiveCall exchange_of_times(const CollectiveCall& call, std::size_t count,
                                 uint32_t most_combined) {
  return {.collective = OMPL_ALLREDUCE,
          .algorithm = OMPL_COLL_RECURSIVE_DOUBLING,
          .me = call.me,
          .size = call.size,
          .in_place = true,
          .element = sizeof(double),
          .most_combined = most_combined,
          .length = count * sizeof(double)};
}

}  // namespace ompl::coll
