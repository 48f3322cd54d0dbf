// SPDX-License-Identifier: BSD-3-Clause
// What active messages carry. The first argument of each is a head; what the others are depends on the operation. Ranks of
// one job run on machines of one byte order.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "conduit/common/record.hpp"
#include "conduit/common/sealed.hpp"

namespace ompl::conduit::psm2 {

// Which link of the receiver a message belongs to, and what it is.
struct Head {
  uint32_t key = 0;  // of the link: the receiver has told it to its other side alone
  uint16_t place = 0;
  uint8_t op = 0;
  uint8_t function = 0;
};
static_assert(sizeof(Head) == 8);

// Operations of this conduit's own, beside those of SignalOp.
enum Op : uint8_t {
  kPut = 240,      // [1] offset; the data
  kGet = 241,      // [1] offset, [2] number of the operation, [3] length. Answered by kData
  kAsk = 242,      // how many messages have been taken? Answered by kAnswer
  kHello = 243,    // see Hello. Answered by kWelcome, or kRefuse, or kLater
  kGoodbye = 244,  // the last request of a side that closes its endpoint in order. Answered by kHeard
  kTaken = 245,    // [1] number of messages taken: now and then, without being asked
  kData = 246,     // [1] number of messages, [2] number of the operation; the data
  kWelcome = 247,  // [1] head of what is sent to the answering side
  kRefuse = 248,   // the link is broken there
  kLater = 249,    // there is no memory for it now
  kHeard = 250,    // [1] number of messages: no answer comes any more
  kAnswer = 251,   // [1] number of messages
  kReady = 252,    // the sender was welcomed
};

// A record, and data with a record, have: [1] offset, [2] value, [3] token, or where the data go; [4] what to compare with.
inline constexpr int kMostArguments = 5;
using Arguments = std::array<uint64_t, kMostArguments>;

// The first message of a connection, in its arguments from [1] on; of its head only `op` counts.
struct Hello {
  uint32_t rank = 0;
  uint16_t slot = 0;
  uint16_t target_slot = 0;
  uint64_t cookie = 0;  // proves that the sender is of this job, and which rank
  uint64_t head = 0;    // of what the receiver sends to this side
};
static_assert(sizeof(Hello) == 3 * sizeof(uint64_t));

inline uint64_t to_argument(const Head& head) { return std::bit_cast<uint64_t>(head); }
inline Head to_head(uint64_t argument) { return std::bit_cast<Head>(argument); }
// The same link, another operation.
inline uint64_t head_for(uint64_t link, uint8_t op, uint8_t function = 0) {
  Head head = to_head(link);
  head.op = op;
  head.function = function;
  return to_argument(head);
}

}  // namespace ompl::conduit::psm2
