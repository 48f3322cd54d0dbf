// SPDX-License-Identifier: BSD-3-Clause
// What a rank publishes so that others can connect to its endpoints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/common/host_addresses.hpp"

namespace ompl::conduit::psm2 {

struct Address {
  uint64_t challenge = 0;       // see conduit/common/sealed.hpp
  bool by_memory = false;       // PSM2 uses self and shm alone
  uint64_t memory = 0;          // equal where processes share what PSM2's shm needs
  HostAddresses host;           // of the liveness listener,
  uint16_t port = 0;            // and its port; 0: there is none
  std::vector<uint64_t> slots;  // number of each slot's endpoint; at least one

  // What is published: about 50 bytes, 6 for each address of IPv4, 18 for IPv6, and 8 per slot. It ends in a hash that needs
  // the job's secret.
  [[nodiscard]] std::string encode(std::string_view secret) const;

  // Reads encode()'s bytes back. These are outside bytes: nothing is believed. Null on success, else what is wrong; *this is
  // then untouched.
  const char* parse(std::string_view bytes, std::string_view secret);
};

}  // namespace ompl::conduit::psm2
