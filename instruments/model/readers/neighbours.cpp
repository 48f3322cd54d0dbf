// SPDX-License-Identifier: BSD-3-Clause
#include "model/readers/neighbours.hpp"

namespace ompl::model {

namespace {

using trace::Kind;

// What made the topology: a duplicate has that of its parent.
Kind maker_of(const trace::RankTrace& trace, uint32_t communicator) {
  while (true) {
    const auto found = trace.communicators().find(communicator);
    if (found == trace.communicators().end()) return Kind::kOpaque;
    const auto& definition = found->second.definition;
    const bool duplicate = definition.made_by == Kind::kCommDup ||
                           definition.made_by == Kind::kCommIdup ||
                           definition.made_by == Kind::kCommDupWithInfo;
    if (!duplicate || definition.parent >= communicator) return definition.made_by;
    communicator = definition.parent;
  }
}

// Ranks count through a grid with its last dimension fastest; of each dimension the neighbour below comes first.
std::optional<Neighbours> of_grid(const trace::TopologyInfo& grid, uint32_t rank, uint32_t size) {
  uint64_t stride = 1;
  Neighbours out;
  if (grid.first.size() != grid.second.size()) return std::nullopt;
  std::vector<int64_t> reversed;
  for (std::size_t d = grid.first.size(); d-- > 0;) {
    const uint64_t length = grid.first[d];
    if (length == 0 || length > size / stride) return std::nullopt;
    const uint64_t place = rank / stride % length;
    const auto at = [&](uint64_t other) {
      return static_cast<int64_t>(rank - place * stride + other * stride);
    };
    const bool periodic = grid.second[d] != 0;
    reversed.push_back(place + 1 < length || periodic ? at((place + 1) % length) : Neighbours::kNobody);
    reversed.push_back(place > 0 || periodic ? at((place + length - 1) % length) : Neighbours::kNobody);
    stride *= length;
  }
  if (stride != size) return std::nullopt;
  out.sources.assign(reversed.rbegin(), reversed.rend());
  out.destinations = out.sources;
  return out;
}

}  // namespace

std::optional<Neighbours> neighbours_of(const trace::RankTrace& trace, uint32_t communicator) {
  const auto topology = trace.topologies().find(communicator);
  const auto known = trace.communicators().find(communicator);
  if (topology == trace.topologies().end() || known == trace.communicators().end()) return std::nullopt;
  const trace::TopologyInfo& info = topology->second;
  const auto& definition = known->second.definition;
  switch (maker_of(trace, communicator)) {
    case Kind::kCartCreate:
    case Kind::kCartSub:
      return of_grid(info, definition.rank, definition.size);
    case Kind::kGraphCreate:
    case Kind::kDistGraphCreate:
    case Kind::kDistGraphCreateAdjacent:
      return Neighbours{{info.first.begin(), info.first.end()},
                        {info.second.begin(), info.second.end()}};
    default:
      return std::nullopt;
  }
}

}  // namespace ompl::model
