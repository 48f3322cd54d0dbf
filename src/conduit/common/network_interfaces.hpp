// SPDX-License-Identifier: BSD-3-Clause
// The addresses of IP that this host has, those first that probably lead to other hosts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ompl::conduit {

// Why an address may not lead to another host; the least doubtful first. The numbers travel.
enum class Doubt : uint8_t {
  none,
  made_here,  // of a bridge or dummy interface, as containers and virtual machines have, without a default route
  down,  // its interface has no carrier
  loopback,
};

// An address of an interface that is up.
struct NetworkInterface {
  std::string name;
  std::string ip;       // 4 or 16 bytes, see ip_address.hpp
  unsigned prefix = 0;  // bits of it that its subnet has in common
  Doubt doubt = Doubt::none;
  bool default_route = false;  // packets to anywhere leave from it
  uint32_t mbit = 0;           // speed of its link, Mbit/s; 0: not known

  [[nodiscard]] bool has_in_its_subnet(const std::string& other) const;
};

// All of this host but for link-local ones of IPv6, which mean nothing without an interface of the other host. In order
// of doubt; then with the default route first, the faster first, IPv4 before IPv6.
std::vector<NetworkInterface> own_interfaces();

// Those that `wanted` names: interfaces, addresses and subnets ("eth0,192.0.2.0/24"), separated by commas; in that order.
// All, if it is empty.
std::vector<NetworkInterface> choose_interfaces(const std::vector<NetworkInterface>& all,
                                                std::string_view wanted);

// The same of this host's, by OMPL_NET_INTERFACE or the name that it had before. OMPL_ERR_UNSUPPORTED if it names
// nothing that is there, with what is.
int chosen_interfaces(const std::string& wanted, std::vector<NetworkInterface>* out);

// The address of this host from which the system sends to that one; "": it knows no way. Sends nothing.
std::string source_address(const std::string& to);

// "eth0 192.0.2.1, lo 127.0.0.1"
std::string list_interfaces(const std::vector<NetworkInterface>& interfaces);

}  // namespace ompl::conduit
