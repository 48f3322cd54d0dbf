// SPDX-License-Identifier: BSD-3-Clause
// What threads that make progress have in common: how they start, their name, where they run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "arch/cores.hpp"

namespace ompl::coll {

inline constexpr int64_t kProgressSpin_ns = 200'000;  // of a thread with a core of its own
inline constexpr std::chrono::seconds kUntilNotified{100};

// OMPL_ERR_SYSTEM if none can be started.
int start_progress_thread(std::thread* thread, std::function<void()> work);

// An empty set is refused, and so is one that was taken from the process since: the thread stays where it is.
void bind_progress_thread(std::thread& thread, const arch::Core& processors);

}  // namespace ompl::coll
