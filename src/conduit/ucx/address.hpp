// SPDX-License-Identifier: BSD-3-Clause
// What a rank publishes so that others can connect to its endpoints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/common/host_addresses.hpp"

namespace ompl::conduit::ucx {

// The workers of one context of UCX, which has one network device, or those that UCX has chosen.
struct WorkerAddresses {
  std::string ip;                  // of the device; "": UCX has chosen
  std::string key;                 // of the segment, packed by UCX
  std::vector<std::string> slots;  // address of each slot's worker; at least one
  std::vector<uint16_t> ports;     // of each worker's listener, in host byte order; 0: not known
};

struct Address {
  std::string version;     // of UCX: its addresses and keys are understood by the same only
  uint64_t challenge = 0;  // see conduit/common/sealed.hpp
  HostAddresses host;
  uint64_t base = 0;                      // the segment's address in its process
  std::vector<WorkerAddresses> networks;  // at least one, all with as many slots

  [[nodiscard]] std::size_t slots() const {
    return networks.empty() ? 0 : networks.front().slots.size();
  }

  // What is published. It ends in a hash that needs the job's secret: UCX believes the bytes it is given.
  [[nodiscard]] std::string encode(std::string_view secret) const;

  // Reads encode()'s bytes back. Null on success, else what is wrong; *this is then untouched.
  const char* parse(std::string_view bytes, std::string_view secret);
};

}  // namespace ompl::conduit::ucx
