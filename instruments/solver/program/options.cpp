// SPDX-License-Identifier: BSD-3-Clause
#include "solver/program/options.hpp"

#include <omnipgas/halo.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <sstream>
#include <vector>

#include "common/command_line.hpp"
#include "solver/program/input.hpp"

namespace ompl::solver {

namespace {

constexpr uint32_t kProducts = 100, kIterations = 10000;  // unless asked for others
constexpr int kUsageError = 2;

// By their numbers.
const std::vector<std::string> kStrategies{"double-buffer",  "single",       "acked",   "mpi",
                                           "mpi-persistent", "mpi-neighbor", "mpi-put", "auto"};

const CLI::Validator kTolerance(
    [](std::string& text) {
      double value = 0;
      return CLI::detail::lexical_cast(text, value) && value >= 0 && value < 1
                 ? std::string()
                 : "a tolerance of " + text + "; it must be from 0 to below 1";
    },
    "0 to below 1");

void common(CLI::App& app, Options* out) {
  auto* const generate = app.add_option(
      "--generate", out->generate, "27pt:SIZE, 7pt:SIZE or aniso:SIZE:WX,WY,WZ; SIZE is N or NXxNYxNZ");
  app.add_option("--matrix", out->matrix,
                 "Matrix Market, Harwell-Boeing or Rutherford-Boeing; may be gzipped")
      ->excludes(generate);
  app.add_option("--threads", out->threads, "Threads of each rank")->check(CLI::Range(1, 1024));
  app.add_option("--strategy", out->strategy, "Of the halo exchange; see omnipgas/halo.h")
      ->check(CLI::IsMember(kStrategies));
  app.add_option("--partition", out->partition, "Who has which rows")
      ->check(CLI::IsMember(std::vector<std::string>(kPartitions.begin(), kPartitions.end())));
  app.add_option("--format", out->format)->check(CLI::IsMember({"csr", "sell"}));
  app.add_option("--solution", out->solution, "File for the result in the matrix's order");
}

}  // namespace

std::optional<int> parse_options(int argc, char** argv, bool loud, Options* out) {
  CLI::App app("One rank of omni cg and omni spmv: solves, and writes lines of JSON.", "ompl_cg");
  app.option_defaults()->always_capture_default();
  app.require_subcommand(1);
  CLI::App& cg = *app.add_subcommand("cg", "Solves A x = b by conjugate gradients");
  common(cg, out);
  cg.add_option("--solver", out->solver, "Plain, pipelined or Gropp's conjugate gradients")
      ->check(CLI::IsMember({"cg", "groppcg", "pipecg"}));
  cg.add_option("--rhs", out->rhs, "File of b; otherwise A times ones");
  cg.add_option("--start", out->start,
                "File of the x to start from, such as a checkpoint; otherwise 0");
  cg.add_option("--precond", out->precondition)->check(CLI::IsMember({"none", "jacobi", "bjacobi"}));
  cg.add_option("--blocks", out->blocks, "Blocks of bjacobi in each rank")->check(CLI::PositiveNumber);
  cg.add_option("--tol", out->tolerance, "Of |r| / |b|")->check(kTolerance);
  cg.add_option("--max-iterations", out->max_iterations, "[10000]");
  cg.add_option("--checkpoint", out->checkpoint, "File for x, on the way");
  cg.add_option("--checkpoint-every", out->checkpoint_every, "Iterations")->check(CLI::PositiveNumber);
  cg.add_flag("--progress", out->progress, "Write lines on the way");
  CLI::App& spmv = *app.add_subcommand("spmv", "Multiplies A with x[i] = 1 + i % 7, again and again");
  common(spmv, out);
  spmv.add_option("--iterations", out->max_iterations, "Products [100]")->check(CLI::PositiveNumber);
  spmv.add_flag("--dot", out->dot, "Sum x . A x over all ranks behind each");
  say_printable(app);
  try {
    app.parse(argc, argv);
    out->spmv = spmv.parsed();
    CLI::App& chosen = out->spmv ? spmv : cg;
    if (chosen.count("--generate") + chosen.count("--matrix") == 0)
      throw CLI::RequiredError("--generate or --matrix");
    if (out->spmv ? spmv.count("--iterations") == 0 : cg.count("--max-iterations") == 0)
      out->max_iterations = out->spmv ? kProducts : kIterations;
  } catch (const CLI::ParseError& error) {
    std::ostringstream silent;
    const int code = app.exit(error, loud ? std::cout : silent, loud ? std::cerr : silent);
    return code == 0 ? 0 : kUsageError;
  }
  out->strategy_number =
      static_cast<int32_t>(std::ranges::find(kStrategies, out->strategy) - kStrategies.begin());
  return std::nullopt;
}

}  // namespace ompl::solver
