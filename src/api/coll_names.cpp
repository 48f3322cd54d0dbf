// SPDX-License-Identifier: BSD-3-Clause
// The names of collectives and algorithms.
#include <array>
#include <cstddef>

#include "omnipgas/coll.h"

namespace {

template <std::size_t Count>
const char* name_in(const std::array<const char*, Count>& names, int32_t number) {
  return number >= 0 && static_cast<std::size_t>(number) < Count
             ? names[static_cast<std::size_t>(number)]
             : nullptr;
}

}  // namespace

extern "C" {

const char* ompl_coll_name(int32_t collective) {
  static constexpr auto kNames =
      std::to_array<const char*>({"barrier", "broadcast", "reduce", "allreduce", "allgather", "gather",
                                  "scatter", "alltoall", "reduce-scatter", "scan", "exscan"});
  return name_in(kNames, collective);
}

const char* ompl_algorithm_name(int32_t algorithm) {
  static constexpr auto kNames = std::to_array<const char*>(
      {"auto", "dissemination", "binomial", "chain", "scatter-allgather", "recursive-doubling",
       "rabenseifner", "ring", "bruck", "neighbor-exchange", "direct", "pairwise", "recursive-halving",
       "hierarchical"});
  return name_in(kNames, algorithm);
}

}  // extern "C"
