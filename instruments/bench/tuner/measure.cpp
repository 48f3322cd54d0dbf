// SPDX-License-Identifier: BSD-3-Clause
// Times of one kind of blocking collective on one node, for the tuner's figures: what each algorithm takes at each call, to be
// replayed, or the tuner's own calls beside those of each algorithm. `omni tune record` and `omni figures` run it by omplrun.
#include <omnipgas/coll.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/control.hpp"
#include "harness/must.hpp"
#include "overlap/layer.hpp"

namespace {

using bench::must;
using bench::overlap::Collective;
using bench::overlap::Shape;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kWarmUp =
    20;  // calls of each algorithm, which are not counted; their results are looked at

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

class Calls {
 public:
  explicit Calls(const Shape& shape) : shape_(shape) {
    must(ompl_team_world(&team_), "ompl_team_world");
    shape_.rank = static_cast<uint32_t>(ompl_rank());
    shape_.ranks = static_cast<uint32_t>(ompl_size());
    outgoing_.resize(shape_.outgoing() + 1);
    incoming_.resize(shape_.incoming() + 1);
    find_algorithms();
  }

  [[nodiscard]] const std::vector<int32_t>& algorithms() const { return algorithms_; }

  void run(int32_t algorithm) {
    ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
    options.algorithm = algorithm;
    must(bench::overlap::call(team_, shape_, outgoing_.data(), incoming_.data(), options, nullptr),
         "the collective");
  }

  void verify(int32_t algorithm) {
    for (uint64_t i = 0; i < kWarmUp; ++i) {
      write(shape_, outgoing_.data(), incoming_.data(), i);
      barrier();
      run(algorithm);
      if (const auto what = wrong(shape_, incoming_.data(), i)) throw std::runtime_error(*what);
    }
  }

  void barrier() { must(ompl_team_barrier(team_, nullptr, nullptr), "ompl_team_barrier"); }

  // As members agree on times in the tuner: the least, or the greatest where some are done early.
  void agree(std::vector<double>& times) {
    const int32_t op = shape_.collective == Collective::broadcast ? OMPL_MAX : OMPL_MIN;
    must(ompl_allreduce(team_, OMPL_IN_PLACE, times.data(), times.size(), OMPL_DOUBLE, op, nullptr,
                        nullptr),
         "ompl_allreduce");
  }

 private:
  // In one node the hierarchical form is another algorithm's double; others may not suit the number of ranks.
  void find_algorithms() {
    const char* const name = bench::overlap::kNames[static_cast<std::size_t>(shape_.collective)];
    int32_t collective = 0;
    while (std::strcmp(ompl_coll_name(collective), name) != 0) ++collective;
    std::vector<int32_t> all(64);
    std::size_t count = 0;
    must(ompl_coll_algorithms(collective, all.data(), all.size(), &count), "ompl_coll_algorithms");
    all.resize(count);
    std::ranges::copy_if(all, std::back_inserter(algorithms_),
                         [](int32_t a) { return a != OMPL_COLL_HIERARCHICAL; });
  }

  Shape shape_;
  ompl_team* team_ = nullptr;
  std::vector<std::byte> outgoing_, incoming_;
  std::vector<int32_t> algorithms_;
};

// Every algorithm in turn at each call, which of them first changing from call to call; all members start together.
json record(Calls& calls, uint64_t count) {
  const std::vector<int32_t>& algorithms = calls.algorithms();
  std::vector<std::vector<double>> times(algorithms.size(), std::vector<double>(count));
  for (uint64_t call = 0; call < count; ++call)
    for (std::size_t i = 0; i < algorithms.size(); ++i) {
      const std::size_t which = (call + i) % algorithms.size();
      calls.barrier();
      const auto start = Clock::now();
      calls.run(algorithms[which]);
      times[which][call] = microseconds_since(start);
    }
  json found = json::object();
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    calls.agree(times[i]);
    found[ompl_algorithm_name(algorithms[i])] = times[i];
  }
  return found;
}

// Blocks of calls by each algorithm and by the tuner, in turn; microseconds per call, of the slowest member, by round. Before that,
// as many calls as a block has, ten times, for the tuner to settle.
json live(Calls& calls, uint64_t count, uint64_t rounds) {
  std::vector<int32_t> series = calls.algorithms();
  series.push_back(OMPL_COLL_AUTO);
  for (uint64_t i = 0; i < 10 * count; ++i) calls.run(OMPL_COLL_AUTO);
  json found = json::object();
  for (uint64_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < series.size(); ++i) {
      const int32_t algorithm = series[(round + i) % series.size()];
      calls.barrier();
      const auto start = Clock::now();
      for (uint64_t call = 0; call < count; ++call) calls.run(algorithm);
      calls.barrier();
      const bool tuned = algorithm == OMPL_COLL_AUTO;
      found[tuned ? "tuned" : ompl_algorithm_name(algorithm)].push_back(microseconds_since(start) /
                                                                        static_cast<double>(count));
    }
  return found;
}

uint64_t number(const std::string& text) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value == 0)
    throw std::runtime_error(text + " is no number above 0");
  return value;
}

json measure(const std::vector<std::string>& given) {
  if (given.size() < 4) throw std::runtime_error("record|live COLLECTIVE BYTES CALLS [ROUNDS]");
  const auto collective = bench::overlap::collective_of(given[1]);
  if (!collective) throw std::runtime_error("there is no collective " + given[1]);
  const uint64_t bytes = number(given[2]);
  Calls calls({.collective = *collective, .bytes = bytes});
  for (const int32_t algorithm : calls.algorithms()) calls.verify(algorithm);
  json found{{"collective", given[1]}, {"bytes", bytes}, {"ranks", ompl_size()}};
  const bool replayed = given[0] == "record" && given.size() == 4;
  if (!replayed && (given[0] != "live" || given.size() != 5))
    throw std::runtime_error("record takes CALLS, live CALLS and ROUNDS");
  found["microseconds"] =
      replayed ? record(calls, number(given[3])) : live(calls, number(given[3]), number(given[4]));
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  must(ompl_init(), "ompl_init");
  try {
    const json found = measure(std::vector<std::string>(argv + 1, argv + argc));
    if (ompl_rank() == 0) std::cout << found << '\n';
  } catch (const std::exception& error) {
    bench::say_error(argv[0], error);
    std::_Exit(1);  // to leave in order it would wait for the others
  }
  must(ompl_finalize(), "ompl_finalize");
  return 0;
}
