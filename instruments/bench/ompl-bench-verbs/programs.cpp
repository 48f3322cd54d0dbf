// SPDX-License-Identifier: BSD-3-Clause
#include "programs.hpp"

#include <fmt/core.h>
#include <omnipgas/ompl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "common/output_file.hpp"

namespace bench_verbs {

namespace {

constexpr int kTries = 25;  // until the server listens
constexpr std::chrono::milliseconds kBetween{400};

int run(const std::string& command, std::string* output) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return -1;
  output->clear();
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) *output += buffer.data();
  return ::pclose(pipe);
}

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

void write_json(const std::string& file, const nlohmann::json& content) {
  ompl::OutputFile out(file);
  out.stream() << content.dump(1) << '\n';
  out.commit();
}

std::vector<double> last_row(const std::string& output, std::size_t bytes) {
  std::vector<double> found;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<double> numbers;
    for (double number = 0; words >> number;) numbers.push_back(number);
    if (words.eof() && numbers.size() >= 4 && numbers[0] == static_cast<double>(bytes))
      found = std::move(numbers);
  }
  return found;
}

std::vector<double> run_perftest(const Perftest& with, const std::string& tool, std::size_t bytes,
                                 uint64_t iterations, std::string* why) {
  std::string output;
  if (run(fmt::format("command -v {}", tool), &output) != 0) {
    *why = fmt::format("there is no {} here (perftest)", tool);
    return {};
  }
  constexpr uint64_t kLeast = 5;  // iterations that perftest accepts
  const bool server = ompl_rank() == 0;
  const auto colon = with.device.find(':');
  std::string command =
      fmt::format("timeout 60 {} -F -s {} -n {}", tool, bytes, std::max(iterations, kLeast));
  if (!with.device.empty()) command += fmt::format(" -d '{}'", with.device.substr(0, colon));
  if (colon != std::string::npos) command += fmt::format(" -i {}", with.device.substr(colon + 1));
  if (!server) command += fmt::format(" '{}'", with.server);
  command += " 2>&1";
  int status = run(command, &output);
  const auto unheard = [&] { return !server && output.find("onnect") != std::string::npos; };
  for (int i = 1; status != 0 && unheard() && i < kTries; ++i) {
    std::this_thread::sleep_for(kBetween);
    status = run(command, &output);
  }
  std::vector<double> found = last_row(output, bytes);
  if (status == 0 && !found.empty()) return found;
  *why = fmt::format("{} printed no figures: {}", command, output.substr(0, output.find('\n')));
  return {};
}

int run_pools(const std::string& launcher, const std::vector<unsigned>& pools,
              const std::vector<std::string>& arguments, const std::string& json) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  nlohmann::json jobs = nlohmann::json::array();
  for (const unsigned pool : pools) {
    const std::string file = fmt::format("{}.{}", json, pool);
    std::string command = fmt::format("{} env OMPL_ENDPOINTS={} {}", launcher, pool, quoted(self));
    for (const std::string& argument : arguments) command += fmt::format(" {}", quoted(argument));
    command += fmt::format(" --launcher '' --json {}",
                           quoted(json.empty() ? "" : file));  // the last ones count
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
  if (!json.empty()) write_json(json, {{"jobs", jobs}});
  return 0;
}

}  // namespace bench_verbs
