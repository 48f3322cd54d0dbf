// SPDX-License-Identifier: BSD-3-Clause
#include "coll/tuner/kind.hpp"

#include <fmt/format.h>

#include <bit>

#include "coll/algorithms/levels.hpp"
#include "coll/team/nodes.hpp"
#include "omnipgas/coll.h"

namespace ompl::coll {

uint32_t size_class(uint64_t bytes) {
  if (bytes < 4) return static_cast<uint32_t>(bytes);
  const auto octave = static_cast<uint32_t>(std::bit_width(bytes)) - 1;
  return 4 * (octave - 1) + static_cast<uint32_t>(bytes >> (octave - 2) & 3);
}

uint64_t smallest_of_class(uint32_t size_class) {
  if (size_class < 4) return size_class;
  const uint32_t octave = size_class / 4 + 1;
  return uint64_t{4 + size_class % 4} << (octave - 2);
}

CallKind kind_of(const CollectiveCall& call) {
  return {.collective = call.collective,
          .members = call.size,
          .nodes = call.nodes != nullptr ? call.nodes->count() : 1,
          .clustered = is_clustered(call),
          .size_class = size_class(call.length),
          .commutative = call.commutative,
          .modes = call.modes,
          .algorithm = call.algorithm};
}

std::string text_of(const CallKind& kind) {
  std::string text = ompl_coll_name(kind.collective);
  const uint64_t least = smallest_of_class(kind.size_class);
  const uint64_t most = smallest_of_class(kind.size_class + 1) - 1;
  if (kind.collective != OMPL_BARRIER)
    text += least == most ? fmt::format(" of {} bytes", least)
                          : fmt::format(" of {} to {} bytes", least, most);
  if (!kind.commutative) text += " by an operation that does not commute";
  text += fmt::format(", {} members", kind.members);
  if (kind.nodes > 1) text += fmt::format(" on {} nodes", kind.nodes);
  if (kind.algorithm != OMPL_COLL_AUTO)
    text += fmt::format(", by {}", ompl_algorithm_name(kind.algorithm));
  if (kind.modes) text += ", nonblocking";
  return text;
}

}  // namespace ompl::coll
