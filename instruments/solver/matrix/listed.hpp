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

}  // namespace ompl::solver
