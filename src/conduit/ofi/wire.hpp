// SPDX-License-Identifier: BSD-3-Clause
// What travels beside the data: the connection request, and signal records in their two forms. Ranks of
// one job run on machines of one byte order; the greeting's magic number proves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

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
  broken,    // this pair was connected once; broken connections are not made anew
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
  uint32_t source = 0;
  uint32_t op = 0;
  uint64_t offset = 0;
  uint64_t value = 0;
};
static_assert(std::is_trivially_copyable_v<Message> && sizeof(Message) == 24);

inline Message to_message(uint32_t source, const Signal& record) {
  return {source, static_cast<uint32_t>(record.op), record.offset, record.value};
}

// --- Whether a record that arrived is one this rank may apply: offsets are checked before use ---

inline bool is_sound(const Job& job, uint32_t source, uint32_t op, uint64_t offset) {
  if (source >= job.size || op > static_cast<uint32_t>(SignalOp::credit)) return false;
  const bool wide =
      op == static_cast<uint32_t>(SignalOp::add64) || op == static_cast<uint32_t>(SignalOp::set64);
  const bool flag = wide || op == static_cast<uint32_t>(SignalOp::add32) ||
                    op == static_cast<uint32_t>(SignalOp::set32);
  const uint64_t size = wide ? 8 : 4;
  return !flag || (offset % size == 0 && offset <= job.capacity - size);
}

}  // namespace ompl::conduit::ofi
