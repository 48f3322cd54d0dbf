// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>

#include "fuzz.hpp"
#include "solver/matrix/csr.hpp"
#include "solver/matrix/lines.hpp"

namespace fuzz {

// What a reader of matrices may do with any bytes.
inline void check_reader(std::string_view bytes, ompl::solver::Csr (*read)(ompl::solver::Lines&)) {
  ompl::solver::Csr a;
  try {
    ompl::solver::Lines lines = ompl::solver::Lines::of_text(bytes, "input");
    a = read(lines);
  } catch (const ompl::InputError& error) {
    const std::string_view text = error.what();
    require(text.starts_with("input:"));
    require(text.find('\n') == std::string_view::npos);
    return;
  }
  require(a.rows > 0 && a.columns > 0 && a.rows <= 2 * bytes.size());
  require(a.start.size() == uint64_t{a.rows} + 1 && a.start.front() == 0 &&
          a.start.back() == a.entries());
  require(a.value.size() == a.entries());
  for (uint32_t row = 0; row < a.rows; ++row) {
    require(a.start[row] <= a.start[row + 1]);
    const auto columns = a.columns_of(row);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      require(columns[k] < a.columns && (k == 0 || columns[k - 1] < columns[k]));
      require(std::isfinite(a.value[a.start[row] + k]));
    }
  }
}

}  // namespace fuzz
