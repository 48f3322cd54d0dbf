// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "solver/csr.hpp"

namespace ompl::solver {

// The matrix in a file, compressed or not: Matrix Market if it begins with %%MatrixMarket, else Harwell-Boeing or
// Rutherford-Boeing. Throws InputError.
[[nodiscard]] Csr read_matrix(const std::string& path);

}  // namespace ompl::solver
