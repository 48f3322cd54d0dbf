// SPDX-License-Identifier: BSD-3-Clause
// What messages hold, so that every byte of them shows whether it landed where and when it should.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "payload.hpp"

namespace bench::payload {

// What `from` sends to `to` in the exchange of that number.
inline void write_message(std::byte* message, std::size_t bytes, uint32_t from, uint32_t to,
                          uint64_t exchange) {
  const uint64_t mixed = seed(static_cast<int>(to), 0, exchange << 16U | from);
  fill(message, bytes, mixed, static_cast<uint32_t>(mixed));
}

// What differs in it; nothing if it is right.
inline std::optional<std::string> wrong_message(const std::byte* message, std::size_t bytes,
                                                uint32_t from, uint32_t to, uint64_t exchange) {
  std::vector<std::byte> expected(bytes);
  write_message(expected.data(), bytes, from, to, exchange);
  const auto [place, other] = std::mismatch(expected.begin(), expected.end(), message);
  if (place == expected.end()) return std::nullopt;
  return "byte " + std::to_string(place - expected.begin()) + " of " + std::to_string(bytes) +
         " from rank " + std::to_string(from) + " differs in exchange " + std::to_string(exchange);
}

}  // namespace bench::payload
