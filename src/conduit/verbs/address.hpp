// SPDX-License-Identifier: BSD-3-Clause
// What a rank publishes so that others can connect to its endpoints.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/common/host_addresses.hpp"
#include "conduit/verbs/transport.hpp"

namespace ompl::conduit::verbs {

struct Address {
  ibv_gid gid{};
  uint16_t lid = 0;
  uint8_t ethernet = 0;  // 1: RoCE
  Transport transport = Transport::rc;
  uint32_t qkey = 0;       // of the connection ends
  uint64_t challenge = 0;  // of this process: what its datagrams are proven for
  uint64_t segment = 0;    // where its segment begins
  uint64_t keys = 0;       // where its table of keys stands, and the key to read it (PublishedKey)
  uint32_t keys_key = 0;
  HostAddresses host;            // of its LivenessListener
  uint16_t liveness_port = 0;    // in host byte order; 0: nowhere
  uint64_t node = 0;             // XRC: the same of ranks that share a domain
  std::vector<uint32_t> queues;  // XRC: numbers of the endpoints' receive queues
  std::vector<uint32_t> slots;   // queue pair numbers of the connection ends, or of DC targets

  // The bytes that are published: about 100 and 4 per slot.
  [[nodiscard]] std::string encode() const;

  // Reads encode()'s bytes back. They come from outside: nothing is believed, and nothing is allocated beyond
  // their own length. Null on success, else what is wrong; *this is then untouched.
  const char* parse(std::string_view text);
};

}  // namespace ompl::conduit::verbs
