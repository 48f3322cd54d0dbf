// SPDX-License-Identifier: BSD-3-Clause
// A rank of the ofi conduit: network_node.hpp with the settings and demands of this one.
#pragma once

#include "conduit/ofi/conduit.hpp"
#include "conformance/network_node.hpp"

namespace ompl::conduit::ofi::test {

using namespace conduit::test;

inline std::unique_ptr<Node> make_node(uint32_t rank, uint32_t size, uint32_t slots = 1,
                                       const std::string& provider = "",
                                       const std::string& interface = "lo",
                                       const std::string& secret = "a secret of the job",
                                       const Demands& demands = {}) {
  Settings settings;
  settings.conduits = "self,ofi";  // else TCP is the conduit tcp's
  settings.ofi_provider = provider;
  settings.net_interface = interface;
  return std::make_unique<Node>(make_demanding(demands), rank, size, slots, settings, secret);
}

}  // namespace ompl::conduit::ofi::test
