// SPDX-License-Identifier: BSD-3-Clause
// By which addresses of IP hosts reach each other. Nobody can know beforehand: a bridge for containers has the same address on
// every host, a second network may lead to some hosts only, a firewall may close a third. So each rank publishes all
// that its host has, and others try them in order of plausibility (route_search.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/common/network_interfaces.hpp"

namespace ompl {
struct Settings;
}

namespace ompl::conduit {

// Which setting chooses among networks, for messages.
inline constexpr const char* kInterfaceHint =
    "OMPL_NET_INTERFACE (formerly OMPL_OFI_INTERFACE) names the interfaces, addresses or subnets to "
    "use, on each host its own";

struct HostAddress {
  std::string ip;  // 4 or 16 bytes
  Doubt doubt = Doubt::none;
  bool default_route = false;
  uint8_t speed =
      0;  // of its link: bits of its Mbit/s, so that 1 and 1.5 Gbit/s are alike; 0: not known
};

// The addresses of one host, as a rank publishes them.
struct HostAddresses {
  static constexpr std::size_t kMost = 16;

  uint64_t network =
      0;  // of which host and network namespace it is (network_identity.hpp); 0: not known
  std::vector<HostAddress> list;  // the most plausible first

  // Of this host: the most plausible of `own`.
  static HostAddresses of(const std::vector<NetworkInterface>& own);

  // 8 bytes and 6 for each address of IPv4, 18 for IPv6.
  [[nodiscard]] std::string encode() const;
  // Reads encode()'s bytes back. These are outside bytes: nothing is believed. Null on success, else what is wrong; *this is
  // then untouched.
  const char* parse(std::string_view bytes);

  [[nodiscard]] std::vector<std::string> ips() const;
  // "192.0.2.1, 2001:db8::1"
  [[nodiscard]] std::string text() const;
  // Whether ranks there have their interfaces in common with `other`'s, as far as is known.
  [[nodiscard]] bool is_same_network(const HostAddresses& other) const {
    return network != 0 && network == other.network;
  }
};

// Of this host, for listeners that answer whether a rank lives: by OMPL_NET_INTERFACE, all if that names nothing here, which is a
// warning; those of the network interface of that number first, if it is not 0.
HostAddresses liveness_addresses(const Settings& settings, unsigned first_interface = 0);

// Puts the peer's addresses into the order in which they are to be tried from a host with `own`, and removes those that lead
// nowhere: of a family that this host lacks, loopback, its own. First those in a subnet of its own, the faster links first;
// then others, those with the default route first; addresses that either side doubts last. Null if any are left, else why not.
const char* order_for_use(const std::vector<NetworkInterface>& own, uint64_t own_network,
                          HostAddresses* peer);

}  // namespace ompl::conduit
