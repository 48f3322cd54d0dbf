// SPDX-License-Identifier: BSD-3-Clause
// ompl_tasklet_run() by threads of the program, each bound to a core of its own, as OMP_PROC_BIND=true does for OpenMP's.
#pragma once

#include <omnipgas/tasklet.hpp>

#include <sched.h>

#include <thread>
#include <vector>

#include "examples/cores.hpp"

namespace cores {

// Runs the first task and all others. Returns as ompl_tasklet_run(); the calling thread is bound meanwhile alone.
inline int run_bound(ompl_tasklet_fn first, void* argument) {
  omnipgas::check(ompl_tasklet_open(first, argument));
  const long threads = ompl_tasklet_threads();
  const Cores all;
  const auto work = [&](long thread) {
    all.bind(thread, threads);
    omnipgas::check(ompl_tasklet_work());
  };
  cpu_set_t before;
  const bool known = sched_getaffinity(0, sizeof before, &before) == 0;
  {
    std::vector<std::jthread> others;
    for (long thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
    work(0);
  }
  if (known) sched_setaffinity(0, sizeof before, &before);
  return ompl_tasklet_close();
}

}  // namespace cores
