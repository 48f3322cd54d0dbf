// SPDX-License-Identifier: BSD-3-Clause
// What travels beside the data: greetings, and signal records in their forms. Ranks of one job run on
// machines of one byte order; the greeting's magic number proves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "conduit/common/record.hpp"
#include "util/secret.hpp"

namespace ompl::conduit::ofi {

// --- The private data of a connection request, and of its refusal (one byte); the beginning of a Hello ---

struct Greeting {
  static constexpr uint32_t kMagic = 0x4F4D5031;  // "1PMO" on the wire
  static constexpr std::size_t kMaxSecret = 128;  // connection requests carry 256 bytes

  uint32_t magic = kMagic;
  uint32_t rank = 0;         // who asks
  uint32_t slot = 0;         // with which endpoint
  uint32_t target_slot = 0;  // which one it wants
  uint32_t secret_length = 0;
  char secret[kMaxSecret] = {};

  void sign(const std::string& of_the_job) {
    secret_length = static_cast<uint32_t>(of_the_job.size());
    of_the_job.copy(secret, kMaxSecret);
  }
  [[nodiscard]] bool is_signed(const std::string& of_the_job) const {
    return magic == kMagic && secret_length <= kMaxSecret &&
           same_secret({secret, secret_length}, of_the_job);
  }
};

enum class Refusal : uint8_t {
  none,
  busy,      // a connection of this pair exists or is being made; the lower rank's request wins
  stranger,  // not of this job
  broken,  // this pair was connected once, and connections are not made anew; also the answer to a probe
};

// --- A record as CQ data: ADD 1 on a 32-bit flag below 16 GiB [6] ---

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

// Operations of this conduit's own. Endpoint `offset` of `source` is about to be closed in order:
inline constexpr uint8_t kGoodbye = 255;
// and where there are no connections: is there anything I have missed? Nothing; or: yes, this is the end.
inline constexpr uint8_t kPing = 254;
inline constexpr uint8_t kPong = 253;
inline constexpr uint8_t kBroken = 252;

inline Message to_message(uint32_t source, const Signal& record) {
  Message message = conduit::to_message<Message>(record);
  message.source = source;
  return message;
}

// --- Without connections: what both sides say once, and what then proves who sends ---

// `link` and `cookie` are what the other side is to name in all that it sends to this one.
struct Hello {
  Greeting greeting;
  uint32_t link = 0;    // place in this endpoint's list of links
  uint32_t knows = 0;   // whether the other's Hello is here already: this one then wants no answer
  uint64_t cookie = 0;  // random
};

struct Sealed {
  Message message;
  uint64_t cookie = 0;
  uint32_t link = 0;
  uint16_t number = 0;  // of this message,
  uint16_t writes = 0;  // after so many numbered writes
};
static_assert(sizeof(Sealed) != sizeof(Hello), "they are told apart by their length");

// CQ data where every write, with or without a signal, has a number, the next one each: a gap shows that
// something was lost. Messages have their own numbers, as they may be overtaken by writes. Flag 0, in the layer's
// own first bytes, stands for a put without a signal.
struct Numbered {
  static constexpr std::size_t kMaxLinks = std::size_t{1} << 16;

  uint16_t link = 0;
  uint16_t number = 0;
  uint32_t flag = 0;  // offset / 4

  [[nodiscard]] uint64_t data() const { return uint64_t{link} << 48 | uint64_t{number} << 32 | flag; }
  static Numbered from(uint64_t data) {
    return {static_cast<uint16_t>(data >> 48), static_cast<uint16_t>(data >> 32),
            static_cast<uint32_t>(data)};
  }
};

}  // namespace ompl::conduit::ofi
