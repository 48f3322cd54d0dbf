// SPDX-License-Identifier: BSD-3-Clause
// Bridges of a host's own making, for containers and virtual machines. They lead to no other host, and often have the same
// address on all.
#pragma once

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace ompl::conduit {

// Whether the network interface of that name is one, as its driver says.
inline bool is_bridge(const char* interface) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  ifreq request{};
  std::strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
  request.ifr_data = reinterpret_cast<char*>(&driver);
  const bool told = ::ioctl(socket, SIOCETHTOOL, &request) == 0;
  ::close(socket);
  return told && std::string_view(driver.driver) == "bridge";
}

}  // namespace ompl::conduit
