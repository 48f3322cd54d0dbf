// SPDX-License-Identifier: BSD-3-Clause
// The sums of the 8 rows of a chunk. All add in the order of the entries, products rounded: the same bits from each.
#pragma once

#include "solver/matrix/sell.hpp"

namespace ompl::solver {

void kernel_portable(const Sell& matrix, const Sell::Chunk& chunk, const double* x, double* sums);
// Only where has() says so; on other architectures than x86-64 these are the portable one.
void kernel_avx2(const Sell& matrix, const Sell::Chunk& chunk, const double* x, double* sums);
void kernel_avx512(const Sell& matrix, const Sell::Chunk& chunk, const double* x, double* sums);

}  // namespace ompl::solver
