// SPDX-License-Identifier: BSD-3-Clause
// Reads Harwell-Boeing and Rutherford-Boeing files (Duff, Grimes and Lewis, "Users' Guide for the Harwell-Boeing Sparse
// Matrix Collection", 1992; "The Rutherford-Boeing Sparse Matrix Collection", 1997): assembled; real, integer or
// pattern (every value 1); symmetric, skew, unsymmetric or rectangular. Right-hand sides are passed over.
#pragma once

#include "solver/matrix/listed.hpp"

namespace ompl::solver {

// Throws InputError with file and line, for what read_matrix_market() refuses, and for elemental matrices, formats that
// are not such as (16I5) or (1P,5E16.8), and pointers that do not ascend.
[[nodiscard]] Listed list_harwell_boeing(Lines& lines, const Wanted& wanted);
[[nodiscard]] Csr read_harwell_boeing(Lines& lines);

}  // namespace ompl::solver
