// SPDX-License-Identifier: BSD-3-Clause
// By which addresses of IP hosts reach each other. Nobody can know beforehand: a bridge for containers has the same address on
// every host, a second network may lead to some hosts only. So each rank publishes all that it has, and others try them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ompl::conduit::ofi {

struct Address;

struct Interface {
  std::string name;
  std::string ip;       // 4 or 16 bytes, network byte order
  unsigned prefix = 0;  // bits of it that its subnet has in common
  bool loopback = false;
  bool bridge = false;  // of a host's own making, for containers and virtual machines
  bool running = true;  // it has a carrier

  [[nodiscard]] bool has_in_its_subnet(const std::string& other) const;
};

// The addresses of that family (AF_INET, AF_INET6) of the interfaces that are up, but for link-local ones: those first that
// probably lead to other hosts, loopback last.
std::vector<Interface> own_interfaces(int family);

// Puts the peer's addresses into the order in which they are to be tried from here, and removes those that lead nowhere.
// False: none is left.
bool order_for_use(const std::vector<Interface>& own, uint64_t own_network, Address* peer);

}  // namespace ompl::conduit::ofi
