// SPDX-License-Identifier: BSD-3-Clause
// What a team of the C API stands for.
#pragma once

#include "coll/team/team.hpp"
#include "omnipgas/coll.h"

namespace ompl::api {

inline coll::Team* team_of(ompl_team* team) { return reinterpret_cast<coll::Team*>(team); }
inline const coll::Team* team_of(const ompl_team* team) {
  return reinterpret_cast<const coll::Team*>(team);
}

}  // namespace ompl::api
