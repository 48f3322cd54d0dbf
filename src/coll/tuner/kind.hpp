// SPDX-License-Identifier: BSD-3-Clause
// Which calls are tuned together, and what a tuner chooses for them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "coll/call.hpp"
#include "coll/progress/modes.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {

// All members of a team give the same.
struct CallKind {
  int32_t collective = 0;
  uint32_t members = 1;
  uint32_t nodes = 1;
  bool clustered = false;  // see levels.hpp
  uint32_t size_class = 0;
  bool commutative = true;
  bool modes = false;     // of progress are chosen, too: calls that nobody waits in
  int32_t algorithm = 0;  // that the calls name; OMPL_COLL_AUTO: it is chosen

  auto operator<=>(const CallKind&) const = default;
};

// Four classes for each power of two; `bytes` is a CollectiveCall's length.
uint32_t size_class(uint64_t bytes);
// The fewest bytes of a class.
uint64_t smallest_of_class(uint32_t size_class);

// Of a call whose blocks are not listed: lists differ between members, and so would their tuners.
CallKind kind_of(const CollectiveCall& call);

// "allreduce of 1024 to 1279 bytes, 4 members", with the number of nodes if there are several.
std::string text_of(const CallKind& kind);

// An algorithm and, of calls that leave it open, who makes progress.
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
