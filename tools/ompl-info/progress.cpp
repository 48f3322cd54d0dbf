// SPDX-License-Identifier: BSD-3-Clause
#include "progress.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <array>

#include "arch/machine.hpp"
#include "arch/process_memory.hpp"
#include "core/memory/segment_header.hpp"
#include "util/status.hpp"

std::string text_of(const ompl::coll::Placement& placement) {
  if (placement.processors.empty()) return fmt::format("any processor ({})", placement.why);
  return fmt::format("processor {} ({})", fmt::join(placement.processors, ","), placement.why);
}

// Whether it can do its work here.
std::string reach_of_a_progress_thread() {
  const int error = ompl::arch::probe_process_memory();
  if (error == 0) return "it may read the memory of other processes";
  return fmt::format(
      "it may not read the memory of other processes ({}; see kernel.yama.ptrace_scope), so callers "
      "go on themselves",
      ompl::error_text(error));
}

void print_progress_modes() {
  std::array<uint64_t, ompl::kCoreWords> allowed{};
  ompl::arch::affinity(allowed);
  const ompl::arch::Cores cores = ompl::arch::cores_of(allowed);
  fmt::print("\nProgress of collectives, if a process is alone on its cores ({})\n", cores.known_by);
  fmt::print("  none    no thread: callers, where they run\n");
  fmt::print("  spare   a thread on {}\n", text_of(ompl::coll::spare_core(cores, {})));
  fmt::print("  shared  a thread on any core of the process: it is not bound\n");
  fmt::print("  node    a thread of one process for all ranks of a node, on {}; {}\n",
             text_of(ompl::coll::node_core(cores)), reach_of_a_progress_thread());
  fmt::print("  idle    no thread: those that wait in the library, where they run\n");
}
