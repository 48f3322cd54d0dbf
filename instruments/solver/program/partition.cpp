// SPDX-License-Identifier: BSD-3-Clause
// ompl_partition: what partitions of a matrix cost; one process, a line of JSON for each partition. Exit code: 0; 2 refused
// input.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/command_line.hpp"
#include "common/input_error.hpp"
#include "solver/matrix/csr.hpp"
#include "solver/matrix/matrix_file.hpp"
#include "solver/partition/partition.hpp"
#include "solver/program/input.hpp"

namespace {

using namespace ompl::solver;  // NOLINT(google-build-using-namespace)
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr int kRefused = 2;

struct Asked {
  std::string generate, matrix;
  std::vector<std::string> partitions{"row"};
  std::vector<uint32_t> parts{2};
  bool messages = false;
};

void read_options(CLI::App& app, Asked* out) {
  auto* const input = app.add_option_group("input");
  input->add_option("--generate", out->generate, "27pt:SIZE, 7pt:SIZE or aniso:SIZE:WX,WY,WZ");
  input->add_option("--matrix", out->matrix, "Matrix Market, Harwell-Boeing or Rutherford-Boeing");
  input->require_option(1);
  app.add_option("--partition", out->partitions, "Ways to cut, comma-separated")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>(kPartitions.begin(), kPartitions.end())));
  app.add_option("--parts", out->parts, "Numbers of parts, comma-separated")->delimiter(',');
  app.add_flag("--messages", out->messages, "Also each part, and what it takes from which");
}

// The parts by themselves: [rows, entries, cut entries] of each, and [from, to, values] of each message.
void add_parts(const std::vector<PartCost>& costs, Json& out) {
  Json parts = Json::array(), messages = Json::array();
  for (std::size_t part = 0; part < costs.size(); ++part) {
    const PartCost& cost = costs[part];
    parts.push_back({cost.rows, cost.entries, cost.cut});
    for (const PartCost::Source& source : cost.from)
      messages.push_back({source.part, part, source.values});
  }
  out["each"] = parts;
  out["messages"] = messages;
}

// Of one way to cut and one number of parts.
Json cost_of(const Asked& asked, const Csr& matrix, const Grid* grid, const std::string& how,
             uint32_t parts) {
  const auto begin = Clock::now();
  const Partition partition = partition_by(how, parts, matrix.rows, grid, matrix.row_lengths(), matrix);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const std::vector<PartCost> costs = costs_of_parts(matrix, partition);
  Json out{{"matrix", grid != nullptr ? asked.generate : asked.matrix},
           {"rows", matrix.rows},
           {"entries", matrix.entries()},
           {"partition", how},
           {"parts", parts},
           {"seconds", seconds},
           {"quality", json_of(quality(costs))}};
  if (asked.messages) add_parts(costs, out);
  return out;
}

int refused(const char* why) {
  fmt::print(stderr, "ompl_partition: {}\n", ompl::printable(why));
  return kRefused;
}

// A cut that cannot be made is said, and the others are made.
int run(const Asked& asked) {
  std::optional<Generator> generator;
  if (!asked.generate.empty()) generator = generator_of(asked.generate);
  const Csr matrix =
      generator ? generate(generator->stencil, generator->grid) : read_matrix(asked.matrix);
  check_square(matrix.rows, matrix.columns);
  const Grid* const grid = generator ? &generator->grid : nullptr;
  int code = 0;
  for (const std::string& how : asked.partitions) {
    for (const uint32_t parts : asked.parts) {
      try {
        std::cout << cost_of(asked, matrix, grid, how, parts) << std::endl;
      } catch (const ompl::InputError& error) {
        code = refused(fmt::format("{}, {} parts: {}", how, parts, error.what()).c_str());
      }
    }
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  CLI::App app("What partitions of a matrix cost: lines of JSON.", "ompl_partition");
  app.option_defaults()->always_capture_default();
  Asked asked;
  read_options(app, &asked);
  ompl::say_printable(app);
  try {
    app.parse(argc, argv);
    return run(asked);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kRefused;
  } catch (const ompl::InputError& error) {
    return refused(error.what());
  } catch (const std::bad_alloc&) {
    return refused("not enough memory; take a smaller matrix");
  }
}
