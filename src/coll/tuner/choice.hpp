// SPDX-License-Identifier: BSD-3-Clause
// What a tuner chooses: an algorithm and, of calls that leave it open, who makes progress.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "coll/progress/modes.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {

struct TunerChoice {
  static constexpr int32_t kNotChosen = -1;  // the mode that the team has

  int32_t algorithm = 0;
  int32_t mode = kNotChosen;  // OMPL_PROGRESS_NONE, ...

  auto operator<=>(const TunerChoice&) const = default;
};

// "ring", or "ring/shared".
inline std::string name_of(const TunerChoice& choice) {
  std::string name = ompl_algorithm_name(choice.algorithm);
  if (choice.mode != TunerChoice::kNotChosen) name.append("/").append(progress_name(choice.mode));
  return name;
}

}  // namespace ompl::coll
