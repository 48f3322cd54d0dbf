// SPDX-License-Identifier: BSD-3-Clause
#include "perftest.hpp"

#include <fmt/core.h>
#include <omnipgas/ompl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>
#include <thread>

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

}  // namespace

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

}  // namespace bench_verbs
