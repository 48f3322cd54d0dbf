// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tuner/tuning.hpp"

#include <algorithm>
#include <utility>

#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

Tuner tuner_of(std::size_t candidates, std::span<const double> known) {
  Tuner tuner(static_cast<uint32_t>(candidates));
  if (std::ranges::any_of(known, [](double seconds) { return seconds > 0; })) tuner.recall(known);
  return tuner;
}

Operation of_times(int32_t op) {
  Operation operation;
  operation.kernel = kernel_of(OMPL_DOUBLE, op, &operation.element);
  return operation;
}

bool some_are_done_early(int32_t collective) {
  return collective == OMPL_BROADCAST || collective == OMPL_REDUCE || collective == OMPL_GATHER ||
         collective == OMPL_SCATTER || collective == OMPL_SCAN || collective == OMPL_EXSCAN;
}

}  // namespace

Tuning::Tuning(const Kind& kind, std::vector<int32_t> algorithms, std::span<const double> known)
    : kind_(kind),
      algorithms_(std::move(algorithms)),
      tuner_(tuner_of(algorithms_.size(), known)),
      epoch_(tuner_.plan()),
      decided_(tuner_.settled()) {}

void Tuning::tell(Table* table) const {
  if (!decided_ || tuner_.calls() == 0) return;
  Table::Entry entry{.calls = tuner_.calls(), .microseconds = {}};
  for (uint32_t c = 0; c < algorithms_.size(); ++c)
    if (tuner_.compared(c)) entry.microseconds[algorithms_[c]] = tuner_.estimate(c) * 1e6;
  table->add(kind_, std::move(entry));
}

std::vector<double> Tuning::times() const {
  std::vector<double> times = epoch_.times();
  times.resize(tuner_.most_runs());
  return times;
}

const Operation& Tuning::agreement() const {
  static const Operation kLeast = of_times(OMPL_MIN);
  static const Operation kGreatest = of_times(OMPL_MAX);
  return some_are_done_early(kind_.collective) ? kGreatest : kLeast;
}

bool Tuning::learn(std::span<const double> agreed) {
  const bool settled = tuner_.settled();
  const uint32_t best = tuner_.best();
  tuner_.learn(agreed.first(tuner_.plan().size()));
  epoch_ = Epoch(tuner_.plan());
  decided_ = decided_ || tuner_.settled();
  return tuner_.settled() && (!settled || tuner_.best() != best);
}

Call exchange_of_times(const Call& call, std::size_t count, uint32_t most_combined) {
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
