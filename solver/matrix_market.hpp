// SPDX-License-Identifier: BSD-3-Clause
// Reads Matrix Market files (Boisvert, Pozo and Remington, "The Matrix Market Exchange Formats: Initial Design", 1996):
// coordinate or array; real, integer or pattern (every value 1); general, symmetric or skew-symmetric.
#pragma once

#include <string>
#include <vector>

#include "solver/csr.hpp"
#include "solver/lines.hpp"

namespace ompl::solver {

// Both throw InputError with file and line: complex, an index out of range, a place named twice, a value that is not
// finite, fewer or more entries than the file says, sizes above kMostRows, fewer entries than rows.

// Zeros of an array are left out.
[[nodiscard]] Csr read_matrix_market(Lines& lines);
// An array of one column, such as a right-hand side.
[[nodiscard]] std::vector<double> read_matrix_market_vector(Lines& lines);

}  // namespace ompl::solver
