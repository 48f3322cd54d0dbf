// SPDX-License-Identifier: BSD-3-Clause
// What the calls of a recording would have taken if the library's tuner had decided on them, and what there was to gain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "coll/tuner/tuner.hpp"

namespace ompl::tuner_replay {

// Seconds, by candidate and call; one candidate at least, all with as many calls.
using Recording = std::vector<std::vector<double>>;

inline double sum(const std::vector<double>& times, std::size_t first = 0) {
  return std::accumulate(times.begin() + static_cast<std::ptrdiff_t>(first), times.end(), 0.0);
}

// The time of the candidate that takes the least if it carries all calls from `first` on.
inline double best_fixed(const Recording& recording, std::size_t first = 0) {
  double best = sum(recording.front(), first);
  for (const std::vector<double>& times : recording) best = std::min(best, sum(times, first));
  return best;
}

// The time of each call, by the candidate that `tuner` has it take.
inline std::vector<double> replay(const Recording& recording, coll::Tuner& tuner) {
  std::vector<double> taken;
  while (taken.size() < recording.front().size()) {
    coll::Epoch epoch(tuner.plan());
    while (!epoch.over() && taken.size() < recording.front().size()) {
      taken.push_back(recording[epoch.candidate()][taken.size()]);
      epoch.note(taken.back());
    }
    if (epoch.over()) tuner.learn(epoch.times());
  }
  return taken;
}

}  // namespace ompl::tuner_replay
