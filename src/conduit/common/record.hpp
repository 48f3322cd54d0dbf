// SPDX-License-Identifier: BSD-3-Clause
// A signal record as it travels: as an immediate, or in a message of the conduit's own that has the record's members.
#pragma once

#include <cstddef>

#include "conduit/conduit.hpp"

namespace ompl::conduit {

// As offset / 4: ADD 1 on a 32-bit flag below 16 GiB [6].
inline bool fits_immediate(const Signal& record) {
  return record.op == SignalOp::update32 && record.function == Function::add && record.value == 1 &&
         record.token == 0 && (record.offset >> 34) == 0;
}

// The data of a message, beside its header.
struct Payload {
  const void* source = nullptr;
  std::size_t length = 0;
};

template <class Message>
Message to_message(const Signal& record) {
  Message message;
  message.offset = record.offset;
  message.value = record.value;
  message.compare = record.compare;
  message.token = record.token;
  message.op = static_cast<uint8_t>(record.op);
  message.function = static_cast<uint8_t>(record.function);
  return message;
}

template <class Message>
Signal from_message(const Message& message) {
  return {.offset = message.offset,
          .value = message.value,
          .compare = message.compare,
          .token = message.token,
          .op = static_cast<SignalOp>(message.op),
          .function = static_cast<Function>(message.function)};
}

}  // namespace ompl::conduit
