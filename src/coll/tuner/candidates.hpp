// SPDX-License-Identifier: BSD-3-Clause
// Among what a tuner chooses: algorithms that LogGP does not rule out and, where it is open, who makes progress.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coll/tuner/machine.hpp"

namespace ompl::coll {

inline constexpr double kHopeless = 8;  // times the least cost: LogGP is not that wrong

// What the algorithm's file says of its cost, in nanoseconds; empty: no cost is known.
std::optional<double> cost(int32_t collective, int32_t algorithm, uint32_t members, uint64_t bytes,
                           const LogGp& machine);

struct AlgorithmCandidate {
  int32_t algorithm = 0;
  std::optional<double> cost;  // empty: none is known
  bool hopeless = false;       // of more than kHopeless times the least cost
};

// The algorithms that can do it, the cheapest first. Those of unknown cost come last, but for the hierarchical one: where there
// are two levels it comes first, as it does untuned, and elsewhere it is another one's double.
std::vector<AlgorithmCandidate> candidates(const CallKind& kind, const LogGp& machine);

// The modes of progress that a tuner chooses among; TunerChoice::kNotChosen alone if none is open. A short call needs no thread.
std::vector<int32_t> modes(const CallKind& kind);

// What a tuner chooses among: each of the candidates without the hopeless in each of the modes.
std::vector<TunerChoice> short_list(const CallKind& kind, const LogGp& machine);

}  // namespace ompl::coll
