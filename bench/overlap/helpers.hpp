// SPDX-License-Identifier: BSD-3-Clause
// The threads that a library has started in this process, its progress thread among them.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/team.hpp"

namespace bench::overlap {

// Binds every thread of this process but `own` to the cores. How many there are.
inline std::size_t bind_helpers(const std::vector<pid_t>& own, const std::vector<int>& cores) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = entry.path().filename();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (std::ranges::find(own, thread) != own.end()) continue;
    bind_to(cores, thread);
    ++count;
  }
  return count;
}

}  // namespace bench::overlap
