// SPDX-License-Identifier: BSD-3-Clause
// What a message carries: small data, a signal record, or both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "conduit/common/record.hpp"

namespace ompl::conduit::mpi {

struct Message {
  uint64_t offset = 0;
  uint64_t value = 0;
  uint64_t compare = 0;
  uint64_t token = 0;
  uint64_t target = 0;  // where the data go
  uint32_t source = 0;
  uint32_t length = 0;  // of the data, which follow
  uint8_t op = 0;
  uint8_t function = 0;
  uint8_t after_puts =
      0;  // the source has put to the target's window since its last message that said so
  uint8_t unused[5] = {};
};
static_assert(sizeof(Message) == 56);

// Operations of this conduit's own, beside those of SignalOp.
inline constexpr uint8_t kDataOnly = 254;
inline constexpr uint8_t kGoodbye = 255;  // the source closes its endpoint; value 1: in order

// A message of this length is still sent at once ("eagerly") by every MPI, over memory and over TCP.
inline constexpr std::size_t kMostCopied = 2048;

struct MessageBuffer {
  Message message;
  std::array<std::byte, kMostCopied> data;
};

}  // namespace ompl::conduit::mpi
