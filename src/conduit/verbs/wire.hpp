// SPDX-License-Identifier: BSD-3-Clause
// What travels beside the data: the datagrams that make connections, and signal records in their two forms.
// Ranks of one job run on machines of one byte order; the magic number proves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "conduit/common/record.hpp"
#include "util/secret.hpp"

namespace ompl::conduit::verbs {

inline constexpr uint32_t kLargestNumber = 0xFFFFFF;  // of queue pairs, shared receive queues, packets

// --- Datagrams between the connection ends of two endpoints. Any may be lost: who waits for an answer sends again. ---

enum class HandshakeStep : uint8_t {
  request,  // here is my queue pair, make yours
  reply,    // here is mine; it receives
  ready,    // mine sends and receives: you may send
  refuse,   // this pair was connected once and broke: it is not made anew
};

struct Datagram {
  static constexpr uint32_t kMagic = 0x4F4D5634;  // "4VMO" on the wire

  uint32_t magic = kMagic;
  uint32_t rank = 0;         // who says so,
  uint32_t slot = 0;         // with which endpoint,
  uint32_t target_slot = 0;  // to which one
  uint32_t queue_pair = 0;
  uint32_t first_packet = 0;  // number of its first packet
  uint32_t target = 0;        // XRC: that the queue pair has at this node, 0 if it is to be made
  HandshakeStep step = HandshakeStep::request;
  uint8_t mtu = 0;  // ibv_mtu
  uint8_t unused[2] = {};
  Proof proof{};  // of all the above, to rank `to`, which published that challenge

  [[nodiscard]] Proof proof_to(uint32_t to, uint64_t challenge, std::string_view secret) const {
    return prove(secret, "verbs datagram",
                 {rank, slot, target_slot, queue_pair, first_packet, target,
                  static_cast<uint64_t>(step), mtu, to, challenge});
  }
};
static_assert(sizeof(Datagram) == 48);

// --- A record as an immediate: ADD 1 on a 32-bit flag below 16 GiB [6] ---

// --- A record as a message ---

struct Message {
  uint64_t offset = 0;
  uint64_t value = 0;
  uint64_t compare = 0;
  uint64_t token = 0;
  uint8_t op = 0;
  uint8_t function = 0;
  uint16_t slot = 0;  // DC, XRC: who says so, with which endpoint
  uint32_t rank = 0;
};
static_assert(sizeof(Message) == 40);

// An operation of this conduit's own: the sender's endpoint is about to be closed in order.
inline constexpr uint8_t kGoodbye = 255;
// DC: the first message of a link, so that the other side says goodbye, and asks whether this one lives.
inline constexpr uint8_t kHello = 254;

}  // namespace ompl::conduit::verbs
