// SPDX-License-Identifier: BSD-3-Clause
// Ranks that reach each other by verbs alone, over a transport that the test chooses.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conduit/registry.hpp"
#include "conformance/conformance.hpp"

namespace ompl::conformance {

// `transport`: OMPL_VERBS_TRANSPORT of every rank. `pools`: the number of endpoints of rank 0, 1, ..., over again; where
// empty, what the test asks for.
inline std::unique_ptr<Fabric> over_verbs(const std::string& transport,
                                          const std::vector<unsigned>& pools = {}) {
  const Tune tune = [transport, pools](uint32_t rank, Settings* settings) {
    settings->verbs_transport = transport;
    if (!pools.empty()) settings->endpoints = pools[rank % pools.size()];
    settings->node_id = "node of " + std::to_string(rank / 2 * 2);  // as XRC sees it
  };
  return fabric_of(tune, conduit::self::make, conduit::verbs::make);
}

}  // namespace ompl::conformance
