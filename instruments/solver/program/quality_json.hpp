// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>

#include "solver/partition/quality.hpp"

namespace ompl::solver {

// As it stands in result files.
inline nlohmann::ordered_json json_of(const Quality& q) {
  return {{"cut", q.cut},
          {"halo", q.halo},
          {"neighbours_mean", q.neighbours_mean},
          {"neighbours_most", q.neighbours_most},
          {"smallest_message_bytes", q.smallest_message},
          {"interior_least", q.interior_least},
          {"rows_most", q.rows_most}};
}

}  // namespace ompl::solver
