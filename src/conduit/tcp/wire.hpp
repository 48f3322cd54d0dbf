// SPDX-License-Identifier: BSD-3-Clause
// What travels on a connection: a handshake in three messages, then frames. Ranks of one job run on machines of one byte
// order; the handshake's magic number proves it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "conduit/common/record.hpp"
#include "util/secret.hpp"

namespace ompl::conduit::tcp {

// --- The handshake. Each side proves that it knows the job's secret, for a number that the other one has just made; the first
// message also for the number that the target has published, so that strangers cost no answer. ---

inline constexpr uint32_t kGreetingMagic = 0x31504354;  // "TCP1" on the wire

// Of who connects.
struct TcpGreeting {
  uint32_t magic = kGreetingMagic;
  uint32_t rank = 0;         // who asks
  uint32_t slot = 0;         // with which endpoint
  uint32_t target_slot = 0;  // which one it wants
  uint64_t challenge = 0;    // of this connection
  uint64_t asked = 0;        // the challenge that the target has published
  Proof proof{};             // of all the above, to rank `target`

  [[nodiscard]] Proof proof_to(uint32_t target, std::string_view secret) const {
    return prove(secret, "tcp greeting", {rank, slot, target, target_slot, challenge, asked});
  }
  [[nodiscard]] bool is_proven(uint32_t target, std::string_view secret) const {
    return magic == kGreetingMagic && same_proof(proof, proof_to(target, secret));
  }
};
static_assert(sizeof(TcpGreeting) == 48);

enum class TcpRefusal : uint32_t {
  none,    // accepted
  busy,    // the lower rank of the pair has asked too: its request wins, or has won
  broken,  // this pair was connected once, and connections are not made anew [18]
};

// Of who was asked.
struct TcpAnswer {
  uint32_t magic = kGreetingMagic;
  TcpRefusal refusal = TcpRefusal::none;
  uint64_t challenge = 0;  // of this connection
  Proof proof{};

  // Endpoint `to.target_slot` of `rank` says so to that greeting.
  [[nodiscard]] Proof proof_of(uint32_t rank, const TcpGreeting& to, std::string_view secret) const {
    return prove(secret, "tcp answer",
                 {static_cast<uint64_t>(refusal), rank, to.target_slot, to.rank, to.slot, to.challenge,
                  challenge});
  }
};
static_assert(sizeof(TcpAnswer) == 32);

// Of who connects, to an answer without refusal. Frames follow at once.
struct Confirmation {
  Proof proof{};

  static Confirmation of(uint32_t target, const TcpGreeting& greeting, uint64_t challenge,
                         std::string_view secret) {
    return {prove(
        secret, "tcp confirmation",
        {greeting.rank, greeting.slot, target, greeting.target_slot, greeting.challenge, challenge})};
  }
};

// --- Frames ---

enum class Kind : uint8_t {
  put,          // `length` bytes for `offset`
  put_add,      // the same, and then ADD 1 on the 32-bit flag at `value`
  record,       // a signal record
  long_record,  // the same, with RecordRest
  get,          // wants `length` bytes from `offset` for its operation `value`
  data,         // the answer: `length` bytes
  goodbye,      // the last one: this endpoint is about to be closed in order
};
inline constexpr auto kLastKind = Kind::goodbye;

struct Frame {
  uint64_t offset = 0;
  uint64_t value = 0;
  uint32_t length = 0;  // bytes of data that follow, or are wanted
  Kind kind = Kind::put;
  uint8_t op = 0;        // of records
  uint8_t function = 0;  // the same
  uint8_t unused = 0;
};
static_assert(sizeof(Frame) == 24);

struct RecordRest {
  uint64_t compare = 0;
  uint64_t token = 0;
};
inline constexpr std::size_t kMaxHead = sizeof(Frame) + sizeof(RecordRest);

// A record as frame and rest, next to each other; and how many bytes of it travel.
struct RecordFrame {
  Frame frame;
  RecordRest rest;

  explicit RecordFrame(const Signal& record)
      : frame{.offset = record.offset,
              .value = record.value,
              .kind = record.token != 0 || record.compare != 0 ? Kind::long_record : Kind::record,
              .op = static_cast<uint8_t>(record.op),
              .function = static_cast<uint8_t>(record.function)},
        rest{.compare = record.compare, .token = record.token} {}
  [[nodiscard]] std::size_t size() const {
    return frame.kind == Kind::long_record ? kMaxHead : sizeof frame;
  }
};
static_assert(sizeof(RecordFrame) == kMaxHead);

inline Signal to_signal(const Frame& frame, const RecordRest& rest) {
  return {.offset = frame.offset,
          .value = frame.value,
          .compare = rest.compare,
          .token = rest.token,
          .op = static_cast<SignalOp>(frame.op),
          .function = static_cast<Function>(frame.function)};
}

}  // namespace ompl::conduit::tcp
