// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

namespace ompl::solver {

// The numbers of a Matrix Market array of one column, compressed or not. Throws InputError, also for other than `rows`.
[[nodiscard]] std::vector<double> read_vector(const std::string& path, uint32_t rows);

// Such an array, each number to the last bit; `comment` is a line of it. The file is complete or as it was before.
// Throws InputError.
void write_vector(const std::string& path, const std::string& comment, std::span<const double> values);

}  // namespace ompl::solver
