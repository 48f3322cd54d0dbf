// SPDX-License-Identifier: BSD-3-Clause
// What is measured, and its forms: the tables of ib_write_lat and ib_write_bw, and JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace bench_verbs {

// Microseconds, as ib_write_lat means them: typical is the median.
struct Times {
  double min = 0, max = 0, typical = 0, average = 0, stdev = 0, p99 = 0, p999 = 0;
};
// `samples` are not empty.
Times times_of(std::vector<double> samples);

// MiB and millions of messages per second, as ib_write_bw means them.
struct Bandwidth {
  double peak = 0, average = 0, rate = 0;
};

struct Row {
  std::string operation;
  unsigned threads = 1;
  std::size_t bytes = 0;
  uint64_t iterations = 0;  // of each thread
  std::optional<Times> times;
  std::optional<Bandwidth> bandwidth;
  std::optional<double> failed_claims;  // a message, if contexts count (OMPL_STATISTICS=1)
};

// A heading before the first row of each operation.
void print(const Row& row, const std::string& last_operation);
nlohmann::json to_json(const Row& row);

}  // namespace bench_verbs
