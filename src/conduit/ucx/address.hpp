// SPDX-License-Identifier: BSD-3-Clause
// What a rank publishes so that others can connect to its endpoints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ompl::conduit::ucx {

struct Address {
  std::string version;     // of UCX: its addresses and keys are understood by the same only
  uint64_t challenge = 0;  // see conduit/common/sealed.hpp
  uint64_t network = 0;    // of which host and network namespace it is (common/network_identity.hpp)
  uint64_t base = 0;       // the segment's address in its process
  std::string key;         // of the segment, packed by UCX
  std::vector<std::string> slots;  // address of each slot's worker; at least one

  // What is published. It ends in a hash that needs the job's secret: UCX believes the bytes it is given.
  [[nodiscard]] std::string encode(std::string_view secret) const;

  // Reads encode()'s bytes back. Null on success, else what is wrong; *this is then untouched.
  const char* parse(std::string_view bytes, std::string_view secret);
};

}  // namespace ompl::conduit::ucx
