// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/common/host_addresses.hpp"

#include <net/if.h>

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "conduit/common/ip_address.hpp"
#include "conduit/common/network_identity.hpp"
#include "util/bytes.hpp"
#include "util/log.hpp"
#include "util/settings.hpp"

namespace ompl::conduit {
namespace {

// Beside the doubt, in a byte.
constexpr int kDefaultRoute = 0x10;
constexpr int kV6 = 0x20;

// How little an address of the peer promises, seen from here.
enum class Prospect : uint8_t { same_subnet, elsewhere, doubtful, own };

Prospect prospect(const std::vector<NetworkInterface>& own, const HostAddress& there) {
  Prospect out = Prospect::elsewhere;
  for (const NetworkInterface& one : own) {
    if (one.ip == there.ip) return Prospect::own;
    if (one.doubt == Doubt::loopback || !one.has_in_its_subnet(there.ip)) continue;
    if (one.doubt == Doubt::none && out == Prospect::elsewhere) out = Prospect::same_subnet;
    if (one.doubt != Doubt::none) out = Prospect::doubtful;
  }
  return there.doubt == Doubt::none ? out : std::max(out, Prospect::doubtful);
}

auto order_of(const std::vector<NetworkInterface>& own, const HostAddress& there) {
  const Prospect value = prospect(own, there);
  const bool far = value != Prospect::same_subnet;
  const auto slowness = static_cast<uint8_t>(UINT8_MAX - there.speed);
  return std::tuple(value, there.doubt, far && !there.default_route, slowness, there.ip.size());
}

}  // namespace

HostAddresses HostAddresses::of(const std::vector<NetworkInterface>& own) {
  HostAddresses out{.network = network_identity(), .list = {}};
  const auto is_v4_loopback = [](const NetworkInterface& one) {
    return is_v4(one.ip) && is_loopback(one.ip);
  };
  const bool one_loopback_is_enough = std::ranges::any_of(own, is_v4_loopback);
  for (const NetworkInterface& one : own) {
    if (out.list.size() == kMost) break;
    if (one_loopback_is_enough && !is_v4(one.ip) && is_loopback(one.ip)) continue;
    out.list.push_back({.ip = one.ip,
                        .doubt = one.doubt,
                        .default_route = one.default_route,
                        .speed = static_cast<uint8_t>(std::bit_width(one.mbit))});
  }
  return out;
}

std::string HostAddresses::encode() const {
  std::string out = ByteWriter().add(network).bytes();
  for (const HostAddress& one : list) {
    const int flags = static_cast<int>(one.doubt) | (one.default_route ? kDefaultRoute : 0) |
                      (is_v4(one.ip) ? 0 : kV6);
    out.push_back(static_cast<char>(flags));
    out.push_back(static_cast<char>(one.speed));
    out += one.ip;
  }
  return out;
}

const char* HostAddresses::parse(std::string_view bytes) {
  HostAddresses read;
  constexpr std::size_t kHead = 2;  // before each IP
  if (bytes.size() < sizeof read.network) return "addresses of a host that are cut off";
  ByteReader(bytes).get(&read.network);
  bytes.remove_prefix(sizeof read.network);
  while (!bytes.empty()) {
    const auto flags = static_cast<uint8_t>(bytes[0]);
    const std::size_t size = (flags & kV6) != 0 ? sizeof(in6_addr) : sizeof(in_addr);
    const auto doubt = static_cast<uint8_t>(flags & ~(kDefaultRoute | kV6));
    if (bytes.size() < kHead + size) return "not an IP address";
    if (doubt > static_cast<uint8_t>(Doubt::loopback) || read.list.size() == kMost)
      return "addresses of a host that no rank publishes";
    read.list.push_back({.ip = std::string(bytes.substr(kHead, size)),
                         .doubt = static_cast<Doubt>(doubt),
                         .default_route = (flags & kDefaultRoute) != 0,
                         .speed = static_cast<uint8_t>(bytes[1])});
    bytes.remove_prefix(kHead + size);
  }
  *this = std::move(read);
  return nullptr;
}

std::vector<std::string> HostAddresses::ips() const {
  std::vector<std::string> out;
  for (const HostAddress& one : list) out.push_back(one.ip);
  return out;
}

std::string HostAddresses::text() const {
  std::string out;
  for (const HostAddress& one : list) out += (out.empty() ? "" : ", ") + ip_text(one.ip);
  return out;
}

HostAddresses liveness_addresses(const Settings& settings, unsigned first_interface) {
  const std::vector<NetworkInterface> all = own_interfaces();
  std::vector<NetworkInterface> chosen = choose_interfaces(all, settings.interfaces());
  if (chosen.empty() && !all.empty()) {
    log::warn(
        "OMPL_NET_INTERFACE=\"{}\" names no interface, address or subnet of this host: not used to "
        "ask whether ranks live",
        settings.interfaces());
    chosen = all;
  }
  char name[IF_NAMESIZE] = "";
  if (first_interface != 0 && ::if_indextoname(first_interface, name) != nullptr)
    std::ranges::stable_partition(chosen,
                                  [&](const NetworkInterface& one) { return one.name == name; });
  return HostAddresses::of(chosen);
}

const char* order_for_use(const std::vector<NetworkInterface>& own, uint64_t own_network,
                          HostAddresses* peer) {
  auto& list = peer->list;
  if (list.empty()) return "that host has published no address of IP";
  const auto lacks_family = [&](const HostAddress& there) {
    return std::ranges::none_of(own, [&](const NetworkInterface& one) {
      return one.ip.size() == there.ip.size() && one.doubt != Doubt::loopback;
    });
  };
  const auto is_own = [&](const HostAddress& there) {
    return std::ranges::find(own, there.ip, &NetworkInterface::ip) != own.end();
  };
  if (own_network != 0 && peer->network == own_network) return nullptr;  // any leads there
  if (own_network != 0 && peer->network != 0) {
    std::erase_if(list, [](const HostAddress& there) { return is_loopback(there.ip); });
    if (list.empty())
      return "that host has loopback addresses only, which lead to no other: give it another address";
    if (std::ranges::all_of(own, [](const NetworkInterface& one) { return is_loopback(one.ip); }))
      return "this host has loopback addresses only, which lead to no other: give it another address";
    std::erase_if(list, lacks_family);
    if (list.empty()) return "one side has IPv4 addresses only, the other IPv6";
    if (!std::ranges::all_of(list, is_own)) std::erase_if(list, is_own);
  }
  std::ranges::stable_sort(list, {}, [&](const HostAddress& there) { return order_of(own, there); });
  return nullptr;
}

}  // namespace ompl::conduit
