// SPDX-License-Identifier: BSD-3-Clause
#include "check/conduits.hpp"

#include <fmt/format.h>

#include "arch/machine.hpp"
#include "core/memory/segment.hpp"
#include "util/status.hpp"

namespace ompl::check {

std::vector<ConduitState> try_conduits(const Settings& settings, std::string* error) {
  Segment segment;
  if (segment.create(std::size_t{1} << 20, 1, false) != OMPL_OK) {
    *error = error_detail();
    return {};
  }
  const conduit::Job job{.host = arch::host_identity(),
                         .secret = {},
                         .settings = &settings,
                         .segment = segment.base(),
                         .capacity = segment.capacity(),
                         .segment_fd = segment.fd(),
                         .nonce = 1};
  const std::string names = "," + settings.conduits + ",";
  std::vector<ConduitState> states;
  for (const conduit::Entry& entry : conduit::registry()) {
    const auto made = entry.make();
    ConduitState& state = states.emplace_back(
        ConduitState{.entry = entry,
                     .wanted = names.find(fmt::format(",{},", entry.name)) != std::string::npos,
                     .direct = made->capabilities().direct});
    if (!state.wanted) {
      state.why_not = "left out by OMPL_CONDUITS";
    } else if (made->open(job) != OMPL_OK) {
      state.why_not = error_detail();
    }
  }
  return states;
}

}  // namespace ompl::check
