// SPDX-License-Identifier: BSD-3-Clause
// With whom a rank exchanges in the neighbour collectives of a communicator that has a topology.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/reader/reader.hpp"

namespace ompl::model {

// Ranks of the communicator, in the order of MPI's buffers; kNobody behind the end of a grid.
struct Neighbours {
  static constexpr int64_t kNobody = -1;
  std::vector<int64_t> sources, destinations;
};

// Nothing if the trace does not say, or what it says is no topology of this communicator.
[[nodiscard]] std::optional<Neighbours> neighbours_of(const trace::RankTrace& trace,
                                                      uint32_t communicator);

}  // namespace ompl::model
