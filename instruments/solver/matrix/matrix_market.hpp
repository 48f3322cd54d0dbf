// SPDX-License-Identifier: BSD-3-Clause
// Reads Matrix Market files (Boisvert, Pozo and Remington, "The Matrix Market Exchange Formats: Initial Design", 1996):
// coordinate or array; real, integer or pattern (every value 1); general, symmetric or skew-symmetric.
// All throw InputError with file and line: complex, an index out of range, a place named twice, a value that is not
// finite, fewer or more entries than the file says, sizes above kMostRows, more than two rows per entry.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "solver/matrix/matrix_file.hpp"

namespace ompl::solver {

// Zeros of an array are left out.
[[nodiscard]] Listed list_matrix_market(Lines& lines, const Wanted& wanted);
[[nodiscard]] Csr read_matrix_market(Lines& lines);
// An array of one column, such as a right-hand side.
[[nodiscard]] std::vector<double> read_matrix_market_vector(Lines& lines);

// The same in pieces, for a coordinate file that several read: see shares.hpp.

struct MatrixMarketHead {
  bool array = false, pattern = false;
  Mirror mirror = Mirror::none;
  uint32_t rows = 0, columns = 0;
  uint64_t count = 0;            // the entries of a coordinate file
  uint64_t line = 0, bytes = 0;  // where the sizes stand; what is before the entries
};
[[nodiscard]] MatrixMarketHead read_matrix_market_head(Lines& lines);
// Of it, with no entries yet.
[[nodiscard]] Listed listed_of(const MatrixMarketHead& head);

// Gives each entry to take(), to the end of the lines. Returns how many; more than `most` are refused.
uint64_t read_coordinates(Lines& lines, const MatrixMarketHead& head, uint64_t most,
                          const std::function<void(const Entry&)>& take);

// Refuses `entries` that are fewer than the head says; `line` is the file's last.
void check_complete(const Lines& lines, const MatrixMarketHead& head, uint64_t entries, uint64_t line);

// The numbers of a Matrix Market array of one column, compressed or not. Throws InputError, also for other than `rows`.
[[nodiscard]] std::vector<double> read_vector(const std::string& path, uint32_t rows);

// Such an array, each number to the last bit; `comment` is a line of it. The file is complete or as it was before.
// Throws InputError.
void write_vector(const std::string& path, const std::string& comment, std::span<const double> values);

}  // namespace ompl::solver
