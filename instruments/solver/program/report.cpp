// SPDX-License-Identifier: BSD-3-Clause
#include "solver/program/report.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "solver/matrix/sell.hpp"
#include "solver/program/input.hpp"
#include "solver/ranks/layer.hpp"

namespace ompl::solver {

namespace {

using Json = nlohmann::ordered_json;

void write(const char* what, const Json& object) { std::cout << Json{{what, object}} << std::endl; }

// Of ompl_halo_describe(): the strategy that is used, none while `auto` still measures, and the microseconds of those
// that `auto` measured.
void add_carriers(const std::string& described, Json& out) {
  Json used, measured;
  std::istringstream lines(described);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(1));
    std::string name;
    words >> name;
    if (line[0] == '*') used = name;
    if (double microseconds = 0; words >> microseconds) measured[name] = microseconds;
  }
  out["strategy_used"] = used;
  out["strategies_us"] = measured;
}

Json split_of(const Options& options, const CgSplit& split, double iterations) {
  Json out{{"product", split.product / iterations}, {"halo_wait", split.halo_wait / iterations}};
  if (!options.spmv) out["preconditioner"] = split.preconditioner / iterations;
  if (!options.spmv || options.dot) out["reduction"] = split.reduction / iterations;
  if (options.spmv) return out;
  out["vectors"] = split.vectors / iterations;
  return out;
}

}  // namespace

void write_progress(uint32_t iteration, double relative_residual) {
  write("progress", {{"iteration", iteration}, {"relative_residual", relative_residual}});
}

void write_report(const Options& options, const Problem& problem, const Report& report) {
  const double iterations = std::max(1U, report.cg.iterations);
  Json out{{"command", options.spmv ? "spmv" : "cg"},
           {"matrix", options.matrix.empty() ? options.generate : options.matrix},
           {"rows", problem.rows},
           {"entries", report.cost.entries},
           {"ranks", all_ranks()},
           {"threads", options.threads},
           {"strategy", options.strategy},
           {"partition", options.partition},
           {"format", options.format},
           {"instructions", options.format == "sell" ? name_of(best_isa()) : "compiled"}};
  add_carriers(report.carriers, out);
  if (!options.spmv) {
    out.update({{"solver", options.solver},
                {"precond", options.precondition},
                {"tolerance", options.tolerance},
                {"reductions", report.cg.reductions},
                {"reductions_by", report.reductions_by}});
  }
  out.update({{"iterations", report.cg.iterations},
              {"seconds_per_iteration", report.seconds / iterations},
              {"setup_seconds", report.setup_seconds},
              {"split", split_of(options, report.split, iterations)},
              {"quality", json_of(report.cost.quality)}});
  if (options.dot) out["dot"] = report.dot;
  if (!options.spmv) {
    out.update({{"converged", report.cg.stop == Stop::converged},
                {"stop", reason(report.cg.stop)},
                {"relative_residual", report.cg.relative_residual()},
                {"true_relative_residual", report.true_relative_residual},
                {"history", report.cg.history}});
  }
  write("result", out);
}

}  // namespace ompl::solver
