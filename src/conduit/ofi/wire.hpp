// SPDX-License-Identifier: BSD-3-Clause
// What travels beside the data: greetings, and signal records in their forms. Ranks of one job run on
// machines of one byte order; the greeting's magic number proves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "conduit/common/record.hpp"
#include "util/secret.hpp"

namespace ompl::conduit::ofi {

// --- The private data of a connection request; without connections, what both sides say once ---

enum class GreetingKind : uint32_t {
  connection,
  probe,  // does a rank of this job still listen there? Proves nothing about who asks
};

struct Greeting {
  static constexpr uint32_t kMagic = 0x4F4D5032;  // "2PMO" on the wire

  uint32_t magic = kMagic;
  GreetingKind kind = GreetingKind::connection;
  uint32_t rank = 0;         // who asks
  uint32_t slot = 0;         // with which endpoint
  uint32_t target_slot = 0;  // which one it wants
  // Without connections: what the other side is to name in all that it sends to this one, a place in this endpoint's list;
  uint32_t link = 0;
  uint32_t knows =
      0;  // and whether the other's greeting is here already: this one then wants no answer
  uint32_t unused = 0;
  uint64_t challenge = 0;  // random: the answer is proven for it
  uint64_t asked = 0;      // the challenge that the target has published
  Proof proof{};           // of all the above, to rank `target`

  [[nodiscard]] Proof proof_to(uint32_t target, std::string_view secret) const {
    return prove(
        secret, "ofi greeting",
        {static_cast<uint64_t>(kind), rank, slot, target, target_slot, link, knows, challenge, asked});
  }
  void sign(uint32_t target, std::string_view secret) { proof = proof_to(target, secret); }
  // For the process that has published `published`.
  [[nodiscard]] bool is_signed(uint32_t target, uint64_t published, std::string_view secret) const {
    return magic == kMagic && asked == published && same_proof(proof, proof_to(target, secret));
  }
};
static_assert(sizeof(Greeting) == 64, "what most providers inject");

enum class Refusal : uint32_t {
  none,      // accepted
  busy,      // a connection of this pair exists or is being made; the lower rank's request wins
  stranger,  // not of this job
  broken,  // this pair was connected once, and connections are not made anew; also the answer to a probe
};

// The private data of the answer to a connection request: it proves that a rank of the job gives it.
struct Answer {
  uint32_t magic = Greeting::kMagic;
  Refusal refusal = Refusal::none;
  Proof proof{};

  // Endpoint `slot` of `rank` says so to that greeting.
  [[nodiscard]] Proof proof_of(uint32_t rank, uint32_t slot, const Greeting& to,
                               std::string_view secret) const {
    return prove(secret, "ofi answer",
                 {static_cast<uint64_t>(refusal), rank, slot, to.rank, to.slot, to.challenge});
  }
};

// What goes with all that endpoint `slot` of `source` sends to one of `target`, where there are no connections.
struct Pair {
  uint32_t source = 0;
  uint32_t slot = 0;
  uint32_t target = 0;
  uint32_t target_slot = 0;

  [[nodiscard]] uint64_t cookie(uint64_t published_by_target, std::string_view secret) const {
    return prove(secret, "ofi cookie", {source, slot, target, target_slot, published_by_target})[0];
  }
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

// --- Without connections: a record, and what proves who sends it ---

struct Sealed {
  Message message;
  uint64_t cookie = 0;  // of the pair
  uint32_t link = 0;
  uint16_t number = 0;  // of this message,
  uint16_t writes = 0;  // after so many numbered writes
};
static_assert(sizeof(Sealed) != sizeof(Greeting), "they are told apart by their length");

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
