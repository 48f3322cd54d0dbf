// SPDX-License-Identifier: BSD-3-Clause
// The objects of libibverbs behind one endpoint of the pool: its queues, and one block of registered memory.
// Threads on different endpoints share nothing here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "conduit/common/regions.hpp"
#include "conduit/conduit.hpp"
#include "conduit/verbs/device.hpp"
#include "conduit/verbs/shared_transport/dc.hpp"
#include "conduit/verbs/shared_transport/xrc.hpp"
#include "conduit/verbs/transport.hpp"
#include "conduit/verbs/wire.hpp"

namespace ompl::conduit::verbs {

// Registered memory of this rank. Keys of allocations are published in a table of memory that every peer may read by RDMA:
// whoever first puts to an allocation reads its key there, and the target has nothing to do. An entry of that table:
struct PublishedKey {
  uint64_t begin = 0;  // offset of the allocation, so that a mistaken reader sees it
  uint64_t end = 0;
  uint32_t key = 0;
  uint32_t valid = 0;
};

// The table has places for allocations of all ranks, in the order of their making, and then one for each piece of the segment:
// the area of local memory that lies there. A registration for such an area is kept to the end, so that a key which others
// remember stays good for what it was given for; the segment's memory is not given back to the system either.
inline constexpr uint32_t kLocalPieces = 4096;

class PinnedRegions : public conduit::RegionTable<Owned<ibv_mr>, 4096> {
 public:
  int add(uint64_t begin, uint64_t end, Owned<ibv_mr> memory) {
    const uint32_t key = memory->lkey;
    return conduit::RegionTable<Owned<ibv_mr>, 4096>::add(begin, end, std::move(memory), key);
  }
};

inline constexpr std::size_t kPublishedKeys = PinnedRegions::kMax + std::size_t{kLocalPieces};

// What all endpoints of a rank share, unchanging while they live but for the tables of regions.
struct SharedState {
  const Library* library = nullptr;
  const Job* job = nullptr;
  const Device* device = nullptr;
  const std::vector<struct Address>* peers =
      nullptr;                                // by rank; without slots if another conduit reaches it
  const PinnedRegions* segment = nullptr;     // by offset
  const PinnedRegions* local = nullptr;       // by offset: local memory
  const PinnedRegions* registered = nullptr;  // by address: ompl_register()
  uint64_t local_piece = 0;                   // bytes
  const class LivenessListener* liveness = nullptr;
  uint64_t network = 0;    // see HostAddresses
  uint32_t qkey = 0;       // of the connection ends
  uint64_t challenge = 0;  // of this process
  Transport transport = Transport::rc;
  const XrcDomain* xrc_domain = nullptr;
};

// Depths of the queues. A completion queue has room for everything that its queues may hold: it cannot overflow.
inline constexpr uint32_t kSends = 128;     // of one queue pair
inline constexpr uint32_t kReceives = 512;  // of the endpoint, shared by its queue pairs
inline constexpr uint32_t kDatagrams = 64;  // received and not looked at; more are lost, and sent again
inline constexpr uint32_t kOutstanding = 4096;  // requests of all queue pairs
inline constexpr uint32_t kInline = 128;  // bytes that a request carries itself, where the device can

inline constexpr std::size_t kBounce = 8192;  // bytes of a bounce slot
inline constexpr uint32_t kBounces = 64;
inline constexpr std::size_t kRoutingHeader = 40;  // before every datagram received

// A receiver that is not ready is asked again every 0.64 ms without end, so that its sleep stalls and never loses [4].
inline constexpr uint8_t kNotReadyTimer = 12;

// The number of a request: its link's index above, the low bits of its ticket below. Of a datagram: this bit, and its
// place above, so that no two neighbours are of one link.
inline constexpr unsigned kTicketBits = 32;
inline constexpr uint64_t kDatagramBit = uint64_t{1} << 63;

struct BufferBlock {
  struct alignas(64) Receive {
    Message message;
  };
  struct alignas(64) ReceivedDatagram {
    std::byte header[kRoutingHeader];
    std::byte datagram[256];
  };
  std::array<std::array<std::byte, kBounce>, kBounces> bounces;
  std::array<Receive, kReceives> receives;
  std::array<ReceivedDatagram, kDatagrams> datagrams;
  std::array<Datagram, kDatagrams> sent_datagrams;
};

// In the order of their making; they go in reverse.
struct Resources {
  std::unique_ptr<BufferBlock> block;
  Owned<ibv_mr> memory{nullptr, nullptr};
  Owned<ibv_comp_channel> channel{nullptr, nullptr};
  Owned<ibv_cq> sends{nullptr, nullptr};      // completions of what was sent
  Owned<ibv_cq> receives{nullptr, nullptr};   // and of what was received
  Owned<ibv_srq> queue{nullptr, nullptr};     // receive requests, shared by all queue pairs
  Owned<ibv_qp> datagrams{nullptr, nullptr};  // RC, XRC: the connection end
  Xrc xrc;
  Dc dc;
  uint32_t end = 0;  // number of the connection end, or of the DC target
  uint32_t inline_limit = 0;

  int open(const SharedState& shared);

  // A queue pair for a connection, or an initiator of XRC. Null on failure, with errno set.
  [[nodiscard]] Owned<ibv_qp> make_pair(const SharedState& shared) const;

 private:
  int open_connection_end(const SharedState& shared);
};

uint32_t random_packet_number(const ibv_qp& pair);

// The states of a queue pair of a connection. Each returns 0 or an errno.
struct Route {
  uint32_t queue_pair = 0;    // the other side's
  uint32_t first_packet = 0;  // its number
  ibv_mtu mtu = IBV_MTU_256;
  ibv_ah_attr path{};
};
int to_init(const SharedState& shared, ibv_qp* pair);
int to_receive(const SharedState& shared, ibv_qp* pair, const Route& route);
int to_send(const SharedState& shared, ibv_qp* pair, uint32_t first_packet);
void to_error(const SharedState& shared, ibv_qp* pair);

}  // namespace ompl::conduit::verbs
