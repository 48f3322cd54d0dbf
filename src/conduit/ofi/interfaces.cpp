// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/interfaces.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <memory>

#include "conduit/common/bridge.hpp"
#include "conduit/ofi/address.hpp"

namespace ompl::conduit::ofi {
namespace {

template <class Ip>
std::string bytes_of(const Ip& ip) {
  return {reinterpret_cast<const char*>(&ip), sizeof ip};
}

std::string ip_of(const sockaddr* address) {
  return address->sa_family == AF_INET
             ? bytes_of(reinterpret_cast<const sockaddr_in*>(address)->sin_addr)
             : bytes_of(reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

bool is_link_local(const std::string& ip) {
  if (ip.size() != sizeof(in6_addr)) return false;
  return static_cast<uint8_t>(ip[0]) == 0xFE && (static_cast<uint8_t>(ip[1]) & 0xC0) == 0x80;
}

bool is_loopback(const std::string& ip) {
  if (ip.size() == sizeof(in_addr)) return ip[0] == IN_LOOPBACKNET;
  return ip == bytes_of(in6addr_loopback);
}

unsigned bits_of(const std::string& mask) {
  unsigned bits = 0;
  for (const char byte : mask)
    bits += static_cast<unsigned>(__builtin_popcount(static_cast<uint8_t>(byte)));
  return bits;
}

// How little it promises to lead to another host.
int doubt(const Interface& one) {
  if (one.loopback) return 3;
  if (!one.running) return 2;
  return one.bridge ? 1 : 0;
}

}  // namespace

bool Interface::has_in_its_subnet(const std::string& other) const {
  if (other.size() != ip.size()) return false;
  for (unsigned bit = 0; bit < prefix; ++bit) {
    const auto differs = static_cast<uint8_t>(ip[bit / 8] ^ other[bit / 8]);
    if ((differs >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

std::vector<Interface> own_interfaces(int family) {
  std::vector<Interface> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_netmask == nullptr ||
        entry->ifa_addr->sa_family != family || (entry->ifa_flags & IFF_UP) == 0)
      continue;
    Interface one{.name = entry->ifa_name,
                  .ip = ip_of(entry->ifa_addr),
                  .loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0,
                  .bridge = is_bridge(entry->ifa_name),
                  .running = (entry->ifa_flags & IFF_RUNNING) != 0};
    entry->ifa_netmask->sa_family = static_cast<sa_family_t>(family);  // not always set
    one.prefix = bits_of(ip_of(entry->ifa_netmask));
    if (!is_link_local(one.ip)) found.push_back(std::move(one));
  }
  std::ranges::stable_sort(found, {}, doubt);
  if (found.size() > Address::kMaxIps) found.resize(Address::kMaxIps);
  return found;
}

bool order_for_use(const std::vector<Interface>& own, uint64_t own_network, Address* peer) {
  if (peer->ips.empty() || (own_network != 0 && peer->network == own_network)) return true;
  auto& ips = peer->ips;
  const bool elsewhere = own_network != 0 && peer->network != 0;
  const auto is_own = [&](const std::string& ip) {
    return std::ranges::find(own, ip, &Interface::ip) != own.end();
  };
  if (elsewhere) std::erase_if(ips, is_loopback);
  if (elsewhere && !std::ranges::all_of(ips, is_own)) std::erase_if(ips, is_own);
  // The most plausible first: in a subnet of this host, elsewhere, in the subnet of a bridge of this host.
  std::ranges::stable_sort(ips, {}, [&](const std::string& ip) {
    int place = 1;
    for (const Interface& one : own) {
      if (!one.loopback && one.running && one.has_in_its_subnet(ip))
        place = one.bridge ? std::max(place, 2) : 0;
      if (place == 0) break;
    }
    return is_own(ip) ? 3 : place;
  });
  return !ips.empty();
}

}  // namespace ompl::conduit::ofi
