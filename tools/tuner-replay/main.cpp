// SPDX-License-Identifier: BSD-3-Clause
// Replays recordings of instruments/bench/tuner through the library's tuner: an array of them on standard input, what came of each on standard
// output. `omni tune replay` and `omni figures` run it.
#include "replay.hpp"

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "coll/tuner/candidates.hpp"
#include "omnipgas/coll.h"
#include "util/printable.hpp"

namespace {

using nlohmann::json;
using ompl::coll::CallKind;
using ompl::coll::TunerChoice;
using ompl::tuner_replay::best_fixed;
using ompl::tuner_replay::Recording;
using ompl::tuner_replay::sum;

int32_t collective_named(const std::string& name) {
  for (int32_t number = 0; ompl_coll_name(number) != nullptr; ++number)
    if (name == ompl_coll_name(number)) return number;
  throw std::runtime_error("there is no collective " + name);
}

std::vector<double> seconds_of(const json& microseconds, std::size_t calls) {
  std::vector<double> times;
  for (const json& one : microseconds) times.push_back(one.get<double>() * 1e-6);
  if (times.size() != calls) throw std::runtime_error("algorithms have different numbers of calls");
  for (const double time : times)
    if (!std::isfinite(time) || time <= 0) throw std::runtime_error("a call takes no time");
  return times;
}

// The tuner chooses among its short list; what it is compared with, among all that were recorded.
json outcome(const json& recorded, std::size_t steady) {
  const json& microseconds = recorded.at("microseconds");
  if (microseconds.empty()) throw std::runtime_error("no algorithm was recorded");
  const std::size_t calls = microseconds.front().size();
  if (calls == 0 || steady == 0 || steady > calls)
    throw std::runtime_error("the last calls are none, or more than were recorded");
  const CallKind kind{.collective = collective_named(recorded.at("collective")),
                      .members = recorded.at("ranks"),
                      .size_class = ompl::coll::size_class(recorded.at("bytes"))};
  Recording all;
  for (const json& times : microseconds) all.push_back(seconds_of(times, calls));
  Recording listed;
  json names = json::array();
  for (const TunerChoice& choice : ompl::coll::short_list(kind, {})) {
    const std::string name = name_of(choice);
    if (!microseconds.contains(name)) throw std::runtime_error(name + " was not recorded");
    listed.push_back(seconds_of(microseconds.at(name), calls));
    names.push_back(name);
  }
  ompl::coll::Tuner tuner(static_cast<uint32_t>(listed.size()));
  const std::vector<double> taken = ompl::tuner_replay::replay(listed, tuner);
  const double whole = sum(taken);
  return {{"collective", recorded.at("collective")},
          {"bytes", recorded.at("bytes")},
          {"ranks", recorded.at("ranks")},
          {"calls", calls},
          {"short_list", names},
          {"takes", names[tuner.best()]},
          {"steady_of_best", sum(taken, calls - steady) / best_fixed(all, calls - steady)},
          {"regret", (whole - best_fixed(all)) / whole}};
}

}  // namespace

// replay STEADY: the last so many calls are the steady state.
int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("give the number of calls at the end that are steady");
    const std::size_t steady = std::stoul(argv[1]);
    json found = json::array();
    for (const json& recorded : json::parse(std::cin)) found.push_back(outcome(recorded, steady));
    std::cout << found << '\n';
  } catch (const std::exception& error) {
    std::cerr << ompl::printable(error.what()) << '\n';
    return 1;
  }
  return 0;
}
