// SPDX-License-Identifier: BSD-3-Clause
// Starting one rank's process.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <string>
#include <vector>

namespace omplrun {

struct ProcessPlan {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // NAME=VALUE, on top of omplrun's own
  std::string directory;                 // empty: stay
  int standard_input = -1;
  int standard_output = -1;
  int standard_error = -1;
  int pmi = -1;                   // kept open in the program, under the same number
  sigset_t signal_mask{};         // for the program
  std::function<void()> prepare;  // runs in the new process, before the program
};

// Starts the program as the leader of its own process group; it is killed when the calling thread ends.
// Returns its pid, or minus the errno that says why the program cannot be run, as does `*why` in words. Throws if there can be no
// process.
pid_t spawn(const ProcessPlan& plan, std::string* why);

}  // namespace omplrun
