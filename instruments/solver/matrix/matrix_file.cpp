// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix/matrix_file.hpp"

#include "solver/matrix/lines.hpp"
#include "solver/matrix/matrix_market.hpp"

namespace ompl::solver {

bool is_matrix_market(Lines& lines) {
  if (!lines.next()) refuse("{}the file is empty", lines.where(1));
  lines.unread();
  return lower(lines.line().substr(0, 2)) == "%%";
}

Listed list_matrix(Lines& lines, const Wanted& wanted) {
  return is_matrix_market(lines) ? list_matrix_market(lines, wanted)
                                 : list_harwell_boeing(lines, wanted);
}

Csr read_matrix(const std::string& path) {
  Lines lines = Lines::of_file(path);
  const Listed listed = list_matrix(lines, all_rows);
  return rows_of(listed, all_rows(listed.rows), lines);
}

}  // namespace ompl::solver
