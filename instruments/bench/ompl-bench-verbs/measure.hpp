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

// The patterns, run by both ranks together. Rank 0 gets the row; of rank 1 only operation and sizes are meant.

// Ping-pong of puts with their flags: half a round trip. `together`: by ompl_put_signal.
Row put_latency(bool together, std::size_t bytes, unsigned threads, uint64_t iterations);
// Of rank 0, from rank 1, which only waits: from call to return.
Row get_latency(std::size_t bytes, uint64_t iterations);

// Puts of rank 0 to rank 1: long ones striped as the settings say; each whole, as a put with a time limit goes; or `window`
// nonblocking ones at once.
enum class Stream { striped, whole, nonblocking };
Row put_bandwidth(Stream stream, std::size_t bytes, uint64_t iterations);

// Memory of both ranks for puts of up to `bytes` by `threads` threads; whether contexts count. Collective, before all else.
int reserve(std::size_t bytes, unsigned threads, bool statistics);
// Ends the job with the library's words if a call failed.
void check(int code, const char* what);

}  // namespace bench_verbs
