// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

#ifdef OMPL_HAVE_VERBS
#include "conduit/verbs/memory.hpp"

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
