// SPDX-License-Identifier: BSD-3-Clause
// How threads that make progress start, and on which cores they run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "arch/cores.hpp"
#include "core/job/membership.hpp"

namespace ompl {

inline constexpr int64_t kProgressSpin_ns = 200'000;  // of a thread with a core of its own
inline constexpr std::chrono::seconds kUntilNotified{100};

// OMPL_ERR_SYSTEM if none can be started. Signals of the system go to the program's threads, but for those that a fault raises.
int start_progress_thread(std::thread* thread, std::function<void()> work);

// An empty set is refused, and so is one that was taken from the process since: the thread stays where it is.
void bind_progress_thread(std::thread& thread, const arch::Core& processors);

// On which core the threads of the modes `spare` and `node` run.
struct Placement {
  arch::Core processors{};  // of one core; empty: none is known
  std::string why{};
  bool spare = false;  // the process has other cores besides
};

// Cores that several processes may use alike count as divided among them, as omplrun divides them: in a row to each. The thread gets
// the last core of its process's part, near the others and the one that threads placed from the first reach last.
Placement spare_core(const arch::Cores& cores, const Sharing& sharing);

// The core of mode `node`: the last of all that the progress thread's process may use, whoever else may use them.
Placement node_core(const arch::Cores& cores);

}  // namespace ompl
