// SPDX-License-Identifier: BSD-3-Clause
// What a rank publishes so that others can reach its endpoints: for connections an IP address and ports, else
// the provider's own name of each endpoint.
#pragma once

#include <rdma/fabric.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/common/host_addresses.hpp"

namespace ompl::conduit::ofi {

struct Address {
  static constexpr std::size_t kMaxName = 64;

  struct Slot {
    uint16_t port = 0;  // its listener's, in host byte order; 0 if it has a name
    uint64_t key = 0;   // of the segment's registration in its domain
    std::string name;   // 1 .. kMaxName bytes; empty if it has a port
  };

  std::string provider;  // both sides must use the same
  HostAddresses host;  // the ports are the same at each of its addresses; without any slots have names
  uint64_t challenge = 0;   // of this process: what others prove to it that they are of the job for
  uint64_t base = 0;        // the segment's address if the provider wants virtual addresses, else 0
  std::vector<Slot> slots;  // at least one

  // The text that is published: about 60 bytes, 7 for each address of the host, and 10 per slot, or 25 with names of IP.
  [[nodiscard]] std::string encode() const;

  // Reads encode()'s text back. These are outside bytes: nothing is believed, and nothing is allocated
  // beyond their own length. Null on success, else what is wrong; *this is then untouched.
  const char* parse(std::string_view text);

  // Takes the host's only address and slot's port from a listener's. False: not an IP address.
  bool take(const sockaddr_storage& listener, Slot* slot);

  // Its host in words, all addresses; "" if slots have names that are not of IP.
  [[nodiscard]] std::string host_text() const;
};

// Whether the provider's addresses are those of IP.
inline bool speaks_ip(const fi_info& info) {
  return info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN ||
         info.addr_format == FI_SOCKADDR_IN6;
}

// Of IP: the same host and port.
bool is_same_address(const sockaddr_storage& a, const sockaddr_storage& b);

}  // namespace ompl::conduit::ofi
