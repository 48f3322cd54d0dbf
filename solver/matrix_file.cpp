// SPDX-License-Identifier: BSD-3-Clause
#include "solver/matrix_file.hpp"

#include "solver/harwell_boeing.hpp"
#include "solver/matrix_market.hpp"
#include "solver/numbers.hpp"

namespace ompl::solver {

Csr read_matrix(const std::string& path) {
  Lines lines = Lines::of_file(path);
  if (!lines.next()) refuse("{}the file is empty", lines.where(1));
  lines.unread();
  return lower(lines.line().substr(0, 2)) == "%%" ? read_matrix_market(lines)
                                                  : read_harwell_boeing(lines);
}

}  // namespace ompl::solver
