// SPDX-License-Identifier: BSD-3-Clause
#include "pools.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace bench_verbs {
namespace {

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

int run_pools(const std::string& launcher, const std::vector<unsigned>& pools,
              const std::vector<std::string>& arguments, const std::string& json) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  nlohmann::json jobs = nlohmann::json::array();
  for (const unsigned pool : pools) {
    const std::string file = fmt::format("{}.{}", json, pool);
    std::string command = fmt::format("{} env OMPL_ENDPOINTS={} {}", launcher, pool, quoted(self));
    for (const std::string& argument : arguments) command += " " + quoted(argument);
    command += " --launcher '' --json " + quoted(json.empty() ? "" : file);  // the last ones count
    fmt::print("\n{} endpoint(s): {}\n", pool, command);
    std::fflush(stdout);
    if (std::system(command.c_str()) !=
        0) {  // NOLINT(cert-env33-c,concurrency-mt-unsafe): a launcher is a command line
      fmt::print(stderr, "ompl-bench-verbs: that job failed\n");
      return 1;
    }
    if (json.empty()) continue;
    jobs.push_back(nlohmann::json::parse(std::ifstream(file), nullptr, false));
    if (jobs.back().is_discarded()) {
      fmt::print(stderr, "ompl-bench-verbs: that job left no results in {}\n", file);
      return 1;
    }
    std::filesystem::remove(file);
  }
  if (!json.empty()) std::ofstream(json) << nlohmann::json{{"jobs", jobs}}.dump(1) << '\n';
  return 0;
}

}  // namespace bench_verbs
