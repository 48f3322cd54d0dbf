// SPDX-License-Identifier: BSD-3-Clause
// What travels beside the data: the connection request, and signal records in their two forms. Ranks of
// one job run on machines of one byte order; the greeting's magic number proves it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "conduit/conduit.hpp"

namespace ompl::conduit::ofi {

// --- The private data of a connection request, and of its refusal (one byte) ---

struct Greeting {
  static constexpr uint32_t kMagic = 0x4F4D5031;  // "1PMO" on the wire
  static constexpr std::size_t kMaxSecret = 128;  // connection requests carry 256 bytes

  uint32_t magic = kMagic;
  uint32_t rank = 0;         // who asks
  uint32_t slot = 0;         // with which endpoint
  uint32_t target_slot = 0;  // which one it wants
  uint32_t secret_length = 0;
  char secret[kMaxSecret] = {};
};

enum class Refusal : uint8_t {
  none,
  busy,      // a connection of this pair exists or is being made; the lower rank's request wins
  stranger,  // not of this job
  broken,  // this pair was connected once, and connections are not made anew; also the answer to a probe
};

// --- A record as CQ data: ADD 1 on a 32-bit flag below 16 GiB [6] ---

inline bool fits_immediate(const Signal& record) {
  return record.op == SignalOp::add32 && record.value == 1 && (record.offset >> 34) == 0;
}
inline uint64_t to_immediate(uint32_t source, const Signal& record) {
  return uint64_t{source} << 32 | record.offset / 4;
}
inline uint32_t immediate_source(uint64_t data) { return static_cast<uint32_t>(data >> 32); }
inline Signal from_immediate(uint64_t data) { return {.offset = (data & UINT32_MAX) * 4}; }

// --- A record as a message ---

struct Message {
  uint64_t offset = 0;
  uint64_t value = 0;
  uint32_t source = 0;
  uint8_t op = 0;
  uint8_t unused[3] = {};
};
static_assert(sizeof(Message) == 24);

// An operation of this conduit's own: endpoint `offset` of `source` is about to be closed in order.
inline constexpr uint8_t kGoodbye = 255;

inline Message to_message(uint32_t source, const Signal& record) {
  return {.offset = record.offset,
          .value = record.value,
          .source = source,
          .op = static_cast<uint8_t>(record.op)};
}
inline Signal from_message(const Message& message) {
  return {message.offset, message.value, static_cast<SignalOp>(message.op)};
}

}  // namespace ompl::conduit::ofi
