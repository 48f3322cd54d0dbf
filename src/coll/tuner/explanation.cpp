// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tuner/explanation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "omnipgas/coll.h"

namespace ompl::coll {
namespace {

std::string microseconds(double seconds) { return fmt::format("{:.3g} us", seconds * 1e6); }

std::string estimated(const AlgorithmCandidate& candidate) {
  return fmt::format("{} ({})", ompl_algorithm_name(candidate.algorithm),
                     candidate.cost ? microseconds(*candidate.cost * 1e-9) : "no estimate");
}

// A candidate that is not the best one, beside it.
std::string beside_the_best(const Tuning& tuning, uint32_t candidate) {
  const Tuner& tuner = tuning.tuner();
  const std::string name = name_of(tuning.choices()[candidate]);
  const double seconds = tuner.estimate(candidate);
  if (seconds == 0) return fmt::format("{} was not tried yet", name);
  return fmt::format("{} took {}, {:.2f} times as long", name, microseconds(seconds),
                     seconds / tuner.estimate(tuner.best()));
}

std::string others_beside_the_best(const Tuning& tuning) {
  std::vector<std::string> others;
  for (uint32_t c = 0; c < tuning.choices().size(); ++c)
    if (c != tuning.tuner().best()) others.push_back(beside_the_best(tuning, c));
  return fmt::format("{}", fmt::join(others, "; "));
}

std::string best_one(const Tuning& tuning) {
  const uint32_t best = tuning.tuner().best();
  return fmt::format("{}, {}", name_of(tuning.choices()[best]),
                     microseconds(tuning.tuner().estimate(best)));
}

}  // namespace

std::string explain_beginning(const Tuning& tuning, const Machine& machine) {
  if (tuning.tuner().estimate(tuning.tuner().best()) > 0)
    return fmt::format("tuner: {}: begins with {}, by the table; {}", text_of(tuning.kind()),
                       best_one(tuning), others_beside_the_best(tuning));
  std::vector<std::string> tried;
  std::vector<std::string> left_out;
  for (const AlgorithmCandidate& candidate : candidates(tuning.kind(), machine.of(tuning.kind())))
    (candidate.hopeless ? left_out : tried).push_back(estimated(candidate));
  std::string text = fmt::format(
      "tuner: {}: tries {}, in the order of what they are estimated to take by {}",
      text_of(tuning.kind()), fmt::join(tried, ", "),
      machine.measured(tuning.kind()) ? "the machine's LogGP terms" : "built-in orders of magnitude");
  if (tuning.kind().modes) {
    std::vector<std::string> names;
    for (const int32_t mode : modes(tuning.kind())) names.emplace_back(progress_name(mode));
    text += fmt::format("; each with progress {}, from the start to the end of the wait",
                        fmt::join(names, ", "));
  }
  if (!left_out.empty())
    text += fmt::format("; leaves out {}, of more than {} times the least", fmt::join(left_out, ", "),
                        kHopeless);
  return text;
}

std::string explain_decision(const Tuning& tuning) {
  const Tuner& tuner = tuning.tuner();
  return fmt::format(
      "tuner: {}: takes {}, after {} call(s); {}; {:.1f} % of their time went into trials",
      text_of(tuning.kind()), best_one(tuning), tuner.calls(), others_beside_the_best(tuning),
      100 * tuner.spent() / tuner.total());
}

}  // namespace ompl::coll
