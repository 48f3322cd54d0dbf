// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/verbs/transport.hpp"

#include "conduit/verbs/memory.hpp"
#include "util/settings.hpp"

namespace ompl::conduit::verbs {
namespace {

constexpr uint64_t kFairShare = uint64_t{256}
                                << 20;  // of a rank's memory for one endpoint's connections

}  // namespace

std::string_view name_of(Transport transport) {
  switch (transport) {
    case Transport::rc:
      return "RC";
    case Transport::xrc:
      return "XRC";
    case Transport::dc:
      return "DC";
  }
  return "an unknown transport";
}

std::vector<Transport> wanted_transports(const Settings& settings, uint32_t ranks) {
  if (settings.verbs_transport == "rc") return {Transport::rc};
  if (settings.verbs_transport == "xrc") return {Transport::xrc};
  if (settings.verbs_transport == "dc") return {Transport::dc};
  const uint64_t budget = settings.endpoint_memory != 0 ? settings.endpoint_memory : kFairShare;
  const JobLayout job{.nodes = ranks, .ranks_per_node = 1, .endpoints = 1};
  if (connection_memory(Transport::rc, job) <= budget) return {Transport::rc};
  return {Transport::dc, Transport::xrc, Transport::rc};
}

}  // namespace ompl::conduit::verbs
