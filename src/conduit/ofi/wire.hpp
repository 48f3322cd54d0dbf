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
  return record.op == SignalOp::update32 && record.function == Function::add && record.value == 1 &&
         record.token == 0 && (record.offset >> 34) == 0;
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
  uint64_t compare = 0;
  uint64_t token = 0;
  uint32_t source = 0;
  uint8_t op = 0;
  uint8_t function = 0;
  uint8_t unused[2] = {};
};
static_assert(sizeof(Message) == 40);

// An operation of this conduit's own: endpoint `offset` of `source` is about to be closed in order.
inline constexpr uint8_t kGoodbye = 255;

inline Message to_message(uint32_t source, const Signal& record) {
  return {.offset = record.offset,
          .value = record.value,
          .compare = record.compare,
          .token = record.token,
          .source = source,
          .op = static_cast<uint8_t>(record.op),
          .function = static_cast<uint8_t>(record.function)};
}
inline Signal from_message(const Message& message) {
  return {.offset = message.offset,
          .value = message.value,
          .compare = message.compare,
          .token = message.token,
          .op = static_cast<SignalOp>(message.op),
          .function = static_cast<Function>(message.function)};
}

}  // namespace ompl::conduit::ofi
