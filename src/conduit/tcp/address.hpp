// SPDX-License-Identifier: BSD-3-Clause
// What a rank publishes so that others can connect to its endpoints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/common/host_addresses.hpp"

namespace ompl::conduit::tcp {

struct Address {
  uint64_t challenge = 0;  // see conduit/common/sealed.hpp
  HostAddresses host;
  std::vector<uint16_t> ports;  // of each slot's listener, in host byte order; at least one

  // What is published: about 30 bytes, 6 for each address of IPv4, 18 for IPv6, and 2 per slot. It ends in a hash that needs
  // the job's secret.
  [[nodiscard]] std::string encode(std::string_view secret) const;

  // Reads encode()'s bytes back. These are outside bytes: nothing is believed. Null on success, else what is wrong; *this is
  // then untouched.
  const char* parse(std::string_view bytes, std::string_view secret);
};

}  // namespace ompl::conduit::tcp
