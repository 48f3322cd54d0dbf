// SPDX-License-Identifier: BSD-3-Clause
// What both programs share: matrices to generate and ways to partition, by their names on the command line; the quality
// of a partition in result files.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "solver/matrix/generate.hpp"
#include "solver/partition/partition.hpp"

namespace ompl::solver {

// By their names on the command line.
inline constexpr std::array kPartitions{"row", "entries", "kway", "recursive", "blocks"};

struct Generator {
  Stencil stencil;
  Grid grid{};
};

// Of --generate: 27pt:N, 7pt:N or aniso:N:WX,WY,WZ; throws InputError.
[[nodiscard]] Generator generator_of(const std::string& text);

// Whether a partition of that name is made from the matrix's pattern.
[[nodiscard]] bool needs_pattern(const std::string& how);

// grid: of a generated matrix, else null. lengths: of all rows, for `entries`; pattern: where it is needed. Throws InputError.
[[nodiscard]] Partition partition_by(const std::string& how, uint32_t parts, uint32_t rows,
                                     const Grid* grid, std::span<const uint32_t> lengths,
                                     const Csr& pattern);

// As it stands in result files.
[[nodiscard]] nlohmann::ordered_json json_of(const Quality& q);

}  // namespace ompl::solver
