// SPDX-License-Identifier: BSD-3-Clause
// Programs that this one starts: the tools of perftest, and jobs of itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bench_verbs {

// ib_write_lat and ib_write_bw of perftest, run by both ranks on the same device: rank 0 listens, rank 1 calls.
struct Perftest {
  std::string server;  // rank 0's host, as rank 1 reaches it
  std::string device;  // of OMPL_VERBS_DEVICE; empty: perftest's choice
};

// What the tool printed in its last row of figures; empty, with the reason in *why, if it did not run. Both ranks.
std::vector<double> run_perftest(const Perftest& with, const std::string& tool, std::size_t bytes,
                                 uint64_t iterations, std::string* why);

// The file is complete or as it was before. Throws ompl::InputError.
void write_json(const std::string& file, const nlohmann::json& content);

// The last line of `output` that is all numbers, the first of them `bytes`.
std::vector<double> last_row(const std::string& output, std::size_t bytes);

// Starts `launcher` with this program and `arguments`, once for each size of the pool, which a job cannot change. Gathers
// the results in `json` unless that is empty. Returns the exit status.
int run_pools(const std::string& launcher, const std::vector<unsigned>& pools,
              const std::vector<std::string>& arguments, const std::string& json);

}  // namespace bench_verbs
