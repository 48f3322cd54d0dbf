// SPDX-License-Identifier: BSD-3-Clause
// The threads of this process: the computation's, and those that a library has started, its progress thread among them.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/report.hpp"
#include "harness/team.hpp"

namespace bench::overlap {

inline std::vector<pid_t> all_threads() {
  std::vector<pid_t> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string name = entry.path().filename();
    std::from_chars(name.data(), name.data() + name.size(), all.emplace_back());
  }
  return all;
}

// Binds every thread of this process but `own` to the cores. How many there are.
inline std::size_t bind_helpers(const std::vector<pid_t>& own, const std::vector<int>& cores) {
  std::size_t count = 0;
  for (const pid_t thread : all_threads()) {
    if (std::ranges::find(own, thread) != own.end()) continue;
    bind_to(cores, thread);
    ++count;
  }
  return count;
}

// Processor time of the threads that there are now, to the nanosecond: of threads that run on other processors the
// process's clock knows only what the system's last tick, milliseconds ago, has told it.
class ProcessorTime {
 public:
  ProcessorTime() {
    for (const pid_t thread : all_threads()) clocks_.push_back({.id = clock_of(thread)});
  }

  double seconds() {
    double sum = 0;
    for (Of& clock : clocks_) {
      timespec now{};
      if (clock_gettime(clock.id, &now) == 0) clock.seconds = in_seconds(now);  // else it has ended
      sum += clock.seconds;
    }
    return sum;
  }

 private:
  struct Of {
    clockid_t id;
    double seconds = 0;
  };

  // As pthread_getcpuclockid() makes it, for threads that are not ours.
  static clockid_t clock_of(pid_t thread) {
    constexpr unsigned kScheduledTimeOfAThread = 6;
    return static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | kScheduledTimeOfAThread);
  }

  std::vector<Of> clocks_;
};

}  // namespace bench::overlap
