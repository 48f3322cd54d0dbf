// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/common/ip_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace ompl::conduit {
namespace {

template <class Ip>
std::string bytes_of(const Ip& ip) {
  return {reinterpret_cast<const char*>(&ip), sizeof ip};
}

const std::string kMappedPrefix("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);

}  // namespace

bool is_loopback(const std::string& ip) {
  if (is_v4(ip)) return ip[0] == IN_LOOPBACKNET;
  return ip == bytes_of(in6addr_loopback);
}

bool is_link_local_v6(const std::string& ip) {
  if (ip.size() != sizeof(in6_addr)) return false;
  return static_cast<uint8_t>(ip[0]) == 0xFE && (static_cast<uint8_t>(ip[1]) & 0xC0) == 0x80;
}

SocketAddress socket_address(const std::string& ip, uint16_t port) {
  if (!is_v4(ip)) return v6_socket_address(ip, port);
  SocketAddress out{.v6 = {}};
  out.v4.sin_family = AF_INET;
  out.v4.sin_port = htons(port);
  std::memcpy(&out.v4.sin_addr, ip.data(), ip.size());
  return out;
}

SocketAddress v6_socket_address(const std::string& ip, uint16_t port) {
  const std::string bytes = is_v4(ip) ? kMappedPrefix + ip : ip;
  SocketAddress out{.v6 = {}};
  out.v6.sin6_family = AF_INET6;
  out.v6.sin6_port = htons(port);
  std::memcpy(&out.v6.sin6_addr, bytes.data(), std::min(bytes.size(), sizeof out.v6.sin6_addr));
  return out;
}

SocketAddress listening_address(const std::vector<std::string>& ips) {
  if (ips.size() == 1) return socket_address(ips.front(), 0);
  return socket_address(std::ranges::all_of(ips, is_v4) ? bytes_of(in_addr{}) : bytes_of(in6addr_any),
                        0);
}

bool is_dual_stack() {
  const int socket = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int only = 1;
  socklen_t size = sizeof only;
  const bool known = socket >= 0 && ::getsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &only, &size) == 0;
  if (socket >= 0) ::close(socket);
  return known && only == 0;
}

std::string ip_of(const sockaddr* address) {
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET)
    return bytes_of(reinterpret_cast<const sockaddr_in*>(address)->sin_addr);
  if (address->sa_family != AF_INET6) return {};
  std::string ip = bytes_of(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
  return ip.starts_with(kMappedPrefix) ? ip.substr(kMappedPrefix.size()) : ip;
}

std::string ip_from(const std::string& text) {
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return bytes_of(v4);
  in6_addr v6{};
  return ::inet_pton(AF_INET6, text.c_str(), &v6) == 1 ? bytes_of(v6) : std::string();
}

std::string ip_text(const std::string& ip) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_ip(ip)) ::inet_ntop(is_v4(ip) ? AF_INET : AF_INET6, ip.data(), text.data(), text.size());
  return text.data();
}

std::string place_text(const std::string& ip, uint16_t port) {
  return fmt::format("{} port {}", ip_text(ip), port);
}

}  // namespace ompl::conduit
