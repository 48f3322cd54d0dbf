// SPDX-License-Identifier: BSD-3-Clause
#include "tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string>

#include "arch/machine.hpp"
#include "arch/memory/process_memory.hpp"
#include "core/memory/segment_header.hpp"
#include "util/status.hpp"
#ifdef OMPL_HAVE_VERBS
#include "conduit/verbs/memory.hpp"
#endif

std::string text_of(const ompl::Placement& placement) {
  if (placement.processors.empty()) return fmt::format("any processor ({})", placement.why);
  return fmt::format("processor {} ({})", fmt::join(placement.processors, ","), placement.why);
}

// Whether a process can progress the collectives of others here, as the mode `node` needs.
std::string reach_of_node_progress() {
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
  fmt::print("  spare   a thread on {}\n", text_of(ompl::spare_core(cores, {})));
  fmt::print("  shared  a thread on any core of the process: it is not bound\n");
  fmt::print("  node    a thread of one process for all ranks of a node, on {}; {}\n",
             text_of(ompl::node_core(cores)), reach_of_node_progress());
  fmt::print("  idle    no thread: those that wait in the library, where they run\n");
  const ompl::Placement own = ompl::spare_core(cores, {});
  fmt::print("Service of other ranks while the program computes (OMPL_PROGRESS): a thread on {}\n",
             own.spare ? text_of(own) : "any core of the process, which has none to spare");
}

#ifdef OMPL_HAVE_VERBS
namespace {

namespace verbs = ompl::conduit::verbs;
using verbs::Transport;

constexpr std::array<uint64_t, 5> kNodes{2, 10, 100, 500, 1000};
constexpr std::array<uint64_t, 6> kPools{1, 2, 3, 4, 8, 16};

std::string with_unit(uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

}  // namespace

void print_queue_pair_memory(uint64_t ranks_per_node, uint64_t budget) {
  constexpr std::array kTransports{std::pair{Transport::rc, "RC"}, std::pair{Transport::xrc, "XRC"},
                                   std::pair{Transport::dc, "DC"}};
  fmt::print(
      "Queue pairs of one rank, all connections made, {} rank(s) on each node; {} for each "
      "connection of RC.\n"
      "Calculated for mlx5 devices. OMPL_VERBS_TRANSPORT chooses; XRC and DC have never run on "
      "hardware.\n\n{:<6}{:<6}",
      ranks_per_node, with_unit(verbs::kConnectionBytes), "nodes", "");
  for (const uint64_t pool : kPools) fmt::print("{:>12}", fmt::format("{} slots", pool));
  fmt::print("{}\n", budget != 0 ? fmt::format("{:>16}", "slots in " + with_unit(budget)) : "");
  for (const uint64_t nodes : kNodes) {
    for (const auto& [transport, name] : kTransports) {
      fmt::print("{:<6}{:<6}", nodes, name);
      verbs::JobLayout job{.nodes = nodes, .ranks_per_node = ranks_per_node};
      for (const uint64_t pool : kPools) {
        job.endpoints = pool;
        fmt::print("{:>12}", with_unit(verbs::connection_memory(transport, job)));
      }
      fmt::print("{}\n", budget != 0 ? fmt::format("{:>16}",
                                                   verbs::affordable_endpoints(transport, job, budget))
                                     : "");
    }
  }
}

#else

void print_queue_pair_memory(uint64_t /*ranks_per_node*/, uint64_t /*budget*/) {
  fmt::print("This build has no verbs conduit.\n");
}

#endif
