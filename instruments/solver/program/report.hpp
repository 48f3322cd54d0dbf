// SPDX-License-Identifier: BSD-3-Clause
// What rank 0 writes: one JSON object a line, {"progress": {...}} on the way and {"result": {...}} at the end.
#pragma once

#include <string>

#include "solver/cg/cg.hpp"
#include "solver/program/options.hpp"
#include "solver/program/problem.hpp"

namespace ompl::solver {

struct Report {
  Cost cost;
  double setup_seconds = 0, seconds = 0;  // of all iterations
  CgSplit split;                          // of all iterations, the mean over ranks
  CgResult cg;                            // only `iterations` of products alone
  double true_relative_residual = 0;
  double dot = 0;                     // x . A x, if it was asked for
  std::string reductions_by = "put";  // or MPI_Iallreduce, or ompl_allreduce
  std::string carriers;               // ompl_halo_describe()
};

void write_progress(uint32_t iteration, double relative_residual);
void write_report(const Options& options, const Problem& problem, const Report& report);

}  // namespace ompl::solver
