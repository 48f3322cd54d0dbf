// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/placement.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ompl::coll {

Placement spare_core(const arch::Cores& cores, const Runtime::Sharing& sharing) {
  const uint64_t count = cores.list.size();
  if (count == 0) return {.why = "the processors of this process are not known"};
  const uint64_t first = count * sharing.place / sharing.processes;
  const uint64_t end = count * (sharing.place + 1) / sharing.processes;
  Placement placement{.processors = cores.list[end > first ? end - 1 : std::min(first, count - 1)]};
  const std::string all = sharing.processes == 1 ? fmt::format("{} core(s) of this process", count)
                                                 : fmt::format("{} of {} cores that {} processes share",
                                                               end - first, count, sharing.processes);
  if (end - first > 1)
    placement.why = fmt::format("the last of {}", all);
  else if (end - first == 1)
    placement.why = fmt::format("{}: it computes there too, so shared may suit it better", all);
  else
    placement.why = fmt::format("{}: no core is left free, so shared may suit it better", all);
  return placement;
}

Placement node_core(const arch::Cores& cores) {
  if (cores.list.empty()) return spare_core(cores, {});
  return {
      .processors = cores.list.back(),
      .why = fmt::format("the last of {} core(s) of the servant's process, for all ranks of its node",
                         cores.list.size())};
}

}  // namespace ompl::coll
