// SPDX-License-Identifier: BSD-3-Clause
// Addresses of IP as this tree keeps them: a string of 4 bytes (IPv4) or 16 (IPv6), in network byte order.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ompl::conduit {

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;

  [[nodiscard]] socklen_t size() const { return any.sa_family == AF_INET ? sizeof v4 : sizeof v6; }
  // In host byte order.
  [[nodiscard]] uint16_t port() const {
    return ntohs(any.sa_family == AF_INET ? v4.sin_port : v6.sin6_port);
  }
};

inline bool is_ip(const std::string& ip) {
  return ip.size() == sizeof(in_addr) || ip.size() == sizeof(in6_addr);
}
inline bool is_v4(const std::string& ip) { return ip.size() == sizeof(in_addr); }
bool is_loopback(const std::string& ip);
bool is_link_local_v6(const std::string& ip);

// The address of that port, in host byte order.
SocketAddress socket_address(const std::string& ip, uint16_t port);
// The same for a socket of IPv6 that speaks IPv4 too: IPv4 addresses are mapped (::ffff:192.0.2.1).
SocketAddress v6_socket_address(const std::string& ip, uint16_t port);

// Where to listen for connections to these, at any port: at the only one, or at all that the host has, of IPv4 alone if all are of
// that, else of IPv6 and with it of IPv4 (see is_dual_stack()).
SocketAddress listening_address(const std::vector<std::string>& ips);
// Whether sockets of IPv6 speak IPv4 too without being told so; false where there is no IPv6.
bool is_dual_stack();

// The address; a mapped one is IPv4. "" if it is not of IP.
std::string ip_of(const sockaddr* address);
inline std::string ip_of(const SocketAddress& address) { return ip_of(&address.any); }
// Of text such as "192.0.2.1"; "" if that is no address.
std::string ip_from(const std::string& text);
// "192.0.2.1"; "" if it is none.
std::string ip_text(const std::string& ip);
// "192.0.2.1 port 4711"
std::string place_text(const std::string& ip, uint16_t port);

}  // namespace ompl::conduit
