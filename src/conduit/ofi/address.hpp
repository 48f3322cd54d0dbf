// SPDX-License-Identifier: BSD-3-Clause
// What a rank publishes so that others can reach its endpoints: for connections an IP address and ports, else
// the provider's own name of each endpoint.
#pragma once

#include <netinet/in.h>
#include <rdma/fabric.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ompl::conduit::ofi {

struct Address {
  static constexpr std::size_t kMaxName = 64;

  struct Slot {
    uint16_t port = 0;  // its listener's, in host byte order; 0 if it has a name
    uint64_t key = 0;   // of the segment's registration in its domain
    std::string name;   // 1 .. kMaxName bytes; empty if it has a port
  };

  std::string provider;  // both sides must use the same
  // 4 bytes (IPv4) or 16 (IPv6), network byte order; the ports are the same at each, and the most plausible is first.
  // Empty: slots have names.
  std::vector<std::string> ips;
  uint64_t network =
      0;  // of which host and network namespace it is (common/network_identity.hpp); 0: not known
  uint64_t challenge = 0;   // of this process: what others prove to it that they are of the job for
  uint64_t base = 0;        // the segment's address if the provider wants virtual addresses, else 0
  std::vector<Slot> slots;  // at least one

  static constexpr std::size_t kMaxIps = 16;

  // The text that is published: about 60 bytes and 10 per slot, or 25 with names of IP.
  [[nodiscard]] std::string encode() const;

  // Reads encode()'s text back. These are outside bytes: nothing is believed, and nothing is allocated
  // beyond their own length. Null on success, else what is wrong; *this is then untouched.
  const char* parse(std::string_view text);

  // Takes its only IP and slot's port from a listener's address. False: not an IP address.
  bool take(const sockaddr_storage& listener, Slot* slot);
  // At that place of `ips`.
  [[nodiscard]] sockaddr_storage listener(const Slot& slot, std::size_t ip = 0) const;

  // Its host in words, all addresses; "" if slots have names that are not of IP.
  [[nodiscard]] std::string host() const;
};

// Whether the provider's addresses are those of IP.
inline bool speaks_ip(const fi_info& info) {
  return info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN ||
         info.addr_format == FI_SOCKADDR_IN6;
}

// Of IP: the same host and port.
bool is_same_address(const sockaddr_storage& a, const sockaddr_storage& b);

// The address in words, "192.0.2.1"; "" if it is not an IP address.
std::string ip_text(const sockaddr* address);

}  // namespace ompl::conduit::ofi
