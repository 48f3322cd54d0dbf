// SPDX-License-Identifier: BSD-3-Clause
// One job for each size of the pool, which a job cannot change.
#pragma once

#include <string>
#include <vector>

namespace bench_verbs {

// Starts `launcher` with this program and `arguments`, once for each pool, and gathers the results in `json` unless that is
// empty. Returns the exit status.
int run_pools(const std::string& launcher, const std::vector<unsigned>& pools,
              const std::vector<std::string>& arguments, const std::string& json);

}  // namespace bench_verbs
