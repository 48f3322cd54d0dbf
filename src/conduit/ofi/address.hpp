// SPDX-License-Identifier: BSD-3-Clause
// What a rank publishes so that others can connect to its endpoints.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ompl::conduit::ofi {

struct Address {
  struct Slot {
    uint16_t port = 0;  // its listener's, in host byte order
    uint64_t key = 0;   // of the segment's registration in its domain
  };

  std::string provider;     // both sides must use the same
  std::string ip;           // 4 bytes (IPv4) or 16 (IPv6), network byte order
  uint64_t base = 0;        // the segment's address if the provider wants virtual addresses, else 0
  std::vector<Slot> slots;  // at least one

  // The text that is published: about 40 bytes and 10 per slot.
  [[nodiscard]] std::string encode() const;

  // Reads encode()'s text back. These are outside bytes: nothing is believed, and nothing is allocated
  // beyond their own length. Null on success, else what is wrong; *this is then untouched.
  const char* parse(std::string_view text);

  // Takes ip and slot's port from a listener's address. False: not an IP address.
  bool take(const sockaddr_storage& listener, Slot* slot);
  [[nodiscard]] sockaddr_storage listener(const Slot& slot) const;
};

// The address in words, "192.0.2.1"; "" if it is not an IP address.
std::string ip_text(const sockaddr* address);

}  // namespace ompl::conduit::ofi
