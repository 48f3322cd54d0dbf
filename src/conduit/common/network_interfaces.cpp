// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/common/network_interfaces.hpp"

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <tuple>

#include "conduit/common/ip_address.hpp"
#include "util/status.hpp"

namespace ompl::conduit {
namespace {

// Asks drivers about interfaces. Works without /sys.
class Drivers {
 public:
  Drivers() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    if (socket_ < 0) socket_ = ::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  }
  ~Drivers() {
    if (socket_ >= 0) ::close(socket_);
  }
  Drivers(const Drivers&) = delete;
  Drivers& operator=(const Drivers&) = delete;

  [[nodiscard]] std::string driver(const char* interface) const {
    ethtool_drvinfo answer{};
    answer.cmd = ETHTOOL_GDRVINFO;
    return ask(interface, &answer) ? answer.driver : "";
  }
  [[nodiscard]] uint32_t mbit(const char* interface) const {
    ethtool_cmd answer{};
    answer.cmd = ETHTOOL_GSET;
    const uint32_t speed = ask(interface, &answer) ? ethtool_cmd_speed(&answer) : 0;
    return speed == static_cast<uint32_t>(SPEED_UNKNOWN) ? 0 : speed;
  }

 private:
  template <class Answer>
  bool ask(const char* interface, Answer* answer) const {
    ifreq request{};
    std::strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
    request.ifr_data = reinterpret_cast<char*>(answer);
    return socket_ >= 0 && ::ioctl(socket_, SIOCETHTOOL, &request) == 0;
  }

  int socket_;
};

unsigned bits_of(const std::string& mask) {
  unsigned bits = 0;
  for (const char byte : mask)
    bits += static_cast<unsigned>(__builtin_popcount(static_cast<uint8_t>(byte)));
  return bits;
}

bool have_in_common(const std::string& a, const std::string& b, unsigned bits) {
  if (a.size() != b.size() || bits > 8 * a.size()) return false;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const auto differs = static_cast<uint8_t>(a[bit / 8] ^ b[bit / 8]);
    if ((differs >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

Doubt doubt_of(const ifaddrs& entry, const std::string& ip, const Drivers& drivers,
               bool default_route) {
  if ((entry.ifa_flags & IFF_LOOPBACK) != 0 || is_loopback(ip)) return Doubt::loopback;
  if ((entry.ifa_flags & IFF_RUNNING) == 0) return Doubt::down;
  const std::string driver = drivers.driver(entry.ifa_name);
  return !default_route && (driver == "bridge" || driver == "dummy") ? Doubt::made_here : Doubt::none;
}

bool names(std::string_view one, const NetworkInterface& interface) {
  const std::size_t slash = one.find('/');
  const std::string ip = ip_from(std::string(one.substr(0, slash)));
  if (slash == std::string_view::npos)
    return one == interface.name || (!ip.empty() && ip == interface.ip);
  unsigned bits = 0;
  const std::string_view text = one.substr(slash + 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  return error == std::errc{} && end == text.data() + text.size() && !ip.empty() &&
         have_in_common(ip, interface.ip, bits);
}

}  // namespace

bool NetworkInterface::has_in_its_subnet(const std::string& other) const {
  return have_in_common(ip, other, prefix);
}

std::vector<NetworkInterface> own_interfaces() {
  std::vector<NetworkInterface> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  const Drivers drivers;
  // To hosts of nowhere near: addresses for documentation.
  const std::array sources{source_address(ip_from("192.0.2.1")),
                           source_address(ip_from("2001:db8::1"))};
  std::vector<std::string> routed;  // names of interfaces
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const std::string ip = ip_of(entry->ifa_addr);
    if (!ip.empty() && std::ranges::find(sources, ip) != sources.end())
      routed.emplace_back(entry->ifa_name);
  }
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const std::string ip = ip_of(entry->ifa_addr);
    if (ip.empty() || is_link_local_v6(ip) || entry->ifa_netmask == nullptr ||
        (entry->ifa_flags & IFF_UP) == 0)
      continue;
    entry->ifa_netmask->sa_family = entry->ifa_addr->sa_family;  // not always set
    const bool default_route = std::ranges::find(routed, entry->ifa_name) != routed.end();
    found.push_back({.name = entry->ifa_name,
                     .ip = ip,
                     .prefix = bits_of(ip_of(entry->ifa_netmask)),
                     .doubt = doubt_of(*entry, ip, drivers, default_route),
                     .default_route = default_route,
                     .mbit = drivers.mbit(entry->ifa_name)});
  }
  std::ranges::stable_sort(found, {}, [](const NetworkInterface& one) {
    return std::tuple(one.doubt, !one.default_route, ~one.mbit, one.ip.size());
  });
  return found;
}

std::vector<NetworkInterface> choose_interfaces(const std::vector<NetworkInterface>& all,
                                                std::string_view wanted) {
  if (wanted.empty()) return all;
  std::vector<NetworkInterface> found;
  while (!wanted.empty()) {
    const std::string_view one = wanted.substr(0, wanted.find(','));
    wanted.remove_prefix(std::min(wanted.size(), one.size() + 1));
    for (const NetworkInterface& interface : all) {
      if (names(one, interface) &&
          std::ranges::find(found, interface.ip, &NetworkInterface::ip) == found.end())
        found.push_back(interface);
    }
  }
  return found;
}

int chosen_interfaces(const std::string& wanted, std::vector<NetworkInterface>* out) {
  const std::vector<NetworkInterface> all = own_interfaces();
  *out = choose_interfaces(all, wanted);
  if (!out->empty() || wanted.empty()) return OMPL_OK;
  return fail(
      OMPL_ERR_UNSUPPORTED,
      "OMPL_NET_INTERFACE=\"{}\" names no interface, address or subnet of this host, which has: {}",
      wanted, list_interfaces(all));
}

std::string source_address(const std::string& to) {
  const SocketAddress there = socket_address(to, 9);
  const int socket = ::socket(there.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return {};
  SocketAddress from{.v6 = {}};
  socklen_t size = sizeof from;
  const bool known =
      ::connect(socket, &there.any, there.size()) == 0 && ::getsockname(socket, &from.any, &size) == 0;
  ::close(socket);
  return known ? ip_of(from) : std::string();
}

std::string list_interfaces(const std::vector<NetworkInterface>& interfaces) {
  std::string out;
  for (const NetworkInterface& one : interfaces)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", one.name, ip_text(one.ip));
  return out.empty() ? "no address at all" : out;
}

}  // namespace ompl::conduit
