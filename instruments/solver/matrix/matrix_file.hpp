// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "solver/matrix/listed.hpp"

namespace ompl::solver {

// The next lines are Matrix Market's; else, Harwell-Boeing's or Rutherford-Boeing's. Throws InputError if there are none.
[[nodiscard]] bool is_matrix_market(Lines& lines);

// Some rows of the matrix in a file of either kind, compressed or not. Throws InputError.
[[nodiscard]] Listed list_matrix(Lines& lines, const Wanted& wanted);

// All of it.
[[nodiscard]] Csr read_matrix(const std::string& path);

}  // namespace ompl::solver
