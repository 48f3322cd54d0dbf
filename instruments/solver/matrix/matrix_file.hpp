// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "solver/matrix/csr.hpp"
#include "solver/matrix/lines.hpp"

namespace ompl::solver {

// What a file says of some rows of its matrix: the entries that touch them. All others have been checked, not kept.
struct Listed {
  uint32_t rows = 0, columns = 0;
  Mirror mirror = Mirror::none;
  uint64_t count = 0;  // entries of the whole matrix
  uint64_t line = 0;   // where its sizes stand
  std::vector<Entry> entries;
};

// Which rows are wanted of a matrix that has so many.
using Wanted = std::function<RowRange(uint32_t rows)>;

[[nodiscard]] inline RowRange all_rows(uint32_t rows) { return {0, rows}; }

// These rows. Throws InputError with file and line, as assemble() and check_enough() do.
[[nodiscard]] inline Csr rows_of(const Listed& listed, RowRange rows, const Lines& lines) {
  check_enough(listed.rows, listed.count, lines.where(listed.line));
  return assemble(rows, listed.columns, listed.entries, listed.mirror,
                  [&](uint64_t line) { return lines.where(line); });
}

// The next lines are Matrix Market's; else, Harwell-Boeing's or Rutherford-Boeing's. Throws InputError if there are none.
[[nodiscard]] bool is_matrix_market(Lines& lines);

// Some rows of the matrix in a file of either kind, compressed or not. Throws InputError.
[[nodiscard]] Listed list_matrix(Lines& lines, const Wanted& wanted);

// All of it.
[[nodiscard]] Csr read_matrix(const std::string& path);

// Reads Harwell-Boeing and Rutherford-Boeing files (Duff, Grimes and Lewis, "Users' Guide for the Harwell-Boeing Sparse
// Matrix Collection", 1992; "The Rutherford-Boeing Sparse Matrix Collection", 1997): assembled; real, integer or
// pattern (every value 1); symmetric, skew, unsymmetric or rectangular. Right-hand sides are passed over.

// Throws InputError with file and line, for what read_matrix_market() refuses, and for elemental matrices, formats that
// are not such as (16I5) or (1P,5E16.8), and pointers that do not ascend.
[[nodiscard]] Listed list_harwell_boeing(Lines& lines, const Wanted& wanted);
[[nodiscard]] Csr read_harwell_boeing(Lines& lines);

}  // namespace ompl::solver
