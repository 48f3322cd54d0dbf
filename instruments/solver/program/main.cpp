// SPDX-License-Identifier: BSD-3-Clause
// ompl_cg: one rank of a job that solves or multiplies. Exit code: 0 solved, 1 not, 2 refused input.
#include <fmt/format.h>
#include <omnipgas/ompl_ext.h>

#include <exception>

#include "common/printable.hpp"
#include "solver/program/options.hpp"
#include "solver/program/problem.hpp"
#include "solver/ranks/layer.hpp"
#include "solver/ranks/mpi.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)

constexpr int kUnsolved = 1, kRefused = 2;

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse_options(argc, argv, my_rank() == 0, &options)) return *code;
  Sums sums;
  try {
    return solve(options, sums) ? 0 : kUnsolved;
  } catch (const Refused& why) {
    if (*why.what() != '\0') fmt::print(stderr, "ompl_cg: {}\n", ompl::printable(why.what()));
    return kRefused;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Mpi mpi;
    check(ompl_init(), "ompl_init");
    const int code = run(argc, argv);
    check(ompl_finalize(), "ompl_finalize");
    return code;
  } catch (const std::exception& error) {
    fmt::print(stderr, "ompl_cg: {}\n", ompl::printable(error.what()));
    if (ompl_rank() >= 0) ompl_abort(kUnsolved, "a rank cannot go on");  // the others would wait
    return kUnsolved;
  }
}
