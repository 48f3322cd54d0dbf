// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ompl {

// Whether they are the same; takes as long for every difference.
inline bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

// FNV-1a, keyed by the secret: tells strangers from members, and broken bytes from whole ones.
inline uint64_t keyed_hash(std::string_view secret, std::string_view bytes) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const std::string_view part : {secret, bytes}) {
    for (const char byte : part) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001B3;
  }
  return hash;
}

}  // namespace ompl
