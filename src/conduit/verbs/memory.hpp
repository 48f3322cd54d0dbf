// SPDX-License-Identifier: BSD-3-Clause
// What connections cost: memory of one rank for its queue pairs, by transport, when every endpoint is connected to every
// rank of the other nodes. Sizes are those of mlx5 devices, as rdma-core lays their queues out.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "conduit/verbs/link.hpp"
#include "conduit/verbs/transport.hpp"

namespace ompl::conduit::verbs {

// A request: control, remote address, and the data inside, in units of 16 bytes; it takes whole blocks of 64.
inline constexpr std::size_t kRequestBytes =
    (16 + 16 + (std::size_t{4} + kInline + 15) / 16 * 16 + 63) / 64 * 64;
inline constexpr std::size_t kSendQueueBytes = std::bit_ceil(kSends * kRequestBytes);
inline constexpr std::size_t kContextBytes = 256;  // the device's own of a queue pair, in host memory
inline constexpr std::size_t kAddressBytes = 64;   // an address handle
inline constexpr std::size_t kInitiatorBytes = kSendQueueBytes + kContextBytes;
inline constexpr std::size_t kLinkBytes = sizeof(QueuePairLink) + kAddressBytes;
inline constexpr std::size_t kConnectionBytes = kInitiatorBytes + kLinkBytes;

struct JobLayout {
  uint64_t nodes = 2;
  uint64_t ranks_per_node = 1;
  uint64_t endpoints = 1;  // of each rank
};

// Bytes of one rank.
constexpr uint64_t connection_memory(Transport transport, const JobLayout& job) {
  const uint64_t nodes = job.nodes - 1;
  const uint64_t ranks = nodes * job.ranks_per_node;
  switch (transport) {
    case Transport::rc:
      return job.endpoints * ranks * kConnectionBytes;
    case Transport::xrc:
      return job.endpoints * (nodes * (kInitiatorBytes + kContextBytes) + ranks * kLinkBytes);
    case Transport::dc:
      return job.endpoints * (kInitiators * kInitiatorBytes + kContextBytes + ranks * kLinkBytes);
  }
  return 0;
}

// The largest pool whose connections take at most `budget` bytes of one rank; 0 if none does.
constexpr uint64_t affordable_endpoints(Transport transport, JobLayout job, uint64_t budget) {
  job.endpoints = 1;
  return budget / std::max<uint64_t>(1, connection_memory(transport, job));
}

}  // namespace ompl::conduit::verbs
