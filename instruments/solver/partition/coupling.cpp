// SPDX-License-Identifier: BSD-3-Clause
#include "solver/partition/coupling.hpp"

#include <algorithm>

namespace ompl::solver {

void multiply_add(const Coupling& coupling, uint32_t first, uint32_t last, const double* const* halo,
                  double* y) {
  const auto begin = std::ranges::lower_bound(coupling.runs, first, {}, &Coupling::Run::row);
  for (auto run = static_cast<std::size_t>(begin - coupling.runs.begin());
       run < coupling.runs.size() && coupling.runs[run].row < last; ++run) {
    const auto [row, neighbour] = coupling.runs[run];
    const double* const x = halo[neighbour];
    double sum = y[row];
    for (uint64_t k = coupling.start[run]; k < coupling.start[run + 1]; ++k)
      sum += coupling.value[k] * x[coupling.column[k]];
    y[row] = sum;
  }
}

}  // namespace ompl::solver
