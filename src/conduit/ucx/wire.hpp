// SPDX-License-Identifier: BSD-3-Clause
// What an active message carries: small data, a signal record, or both. Ranks of one job run on machines of
// one byte order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "conduit/common/record.hpp"
#include "conduit/common/sealed.hpp"

namespace ompl::conduit::ucx {

// The header; the data follow it. As short as can be: some devices take 64 bytes at once, 8 of them for UCX.
struct Message {
  uint64_t cookie = 0;  // proves that the sender is of this job, and which rank
  uint64_t offset = 0;
  uint64_t value = 0;
  uint64_t compare = 0;
  uint64_t token = 0;  // if data follow: where they go; their record has no token
  uint32_t source = 0;
  uint8_t op = 0;
  uint8_t function = 0;
  uint8_t unused[2] = {};
};
static_assert(sizeof(Message) == 48);

// Operations of this conduit's own, beside those of SignalOp.
inline constexpr uint8_t kHello = 253;  // the first message of a connection
inline constexpr uint8_t kDataOnly = 254;
inline constexpr uint8_t kGoodbye = 255;  // the source is about to close its endpoint in order

}  // namespace ompl::conduit::ucx
