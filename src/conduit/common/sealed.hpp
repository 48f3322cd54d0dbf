// SPDX-License-Identifier: BSD-3-Clause
// What ranks tell each other so that strangers cannot: with a hash that needs the job's secret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "util/bytes.hpp"
#include "util/secret.hpp"

namespace ompl::conduit {

// What was written, sealed.
inline std::string seal(ByteWriter& out, std::string_view secret) {
  out.add(keyed_hash(secret, out.bytes()));
  return out.bytes();
}

// What is wrong with sealed `bytes` of which `in` has read all but the seal; null if nothing.
inline const char* check_seal(ByteReader& in, std::string_view bytes, std::string_view secret) {
  uint64_t hash = 0;
  if (!in.get(&hash) || !in.complete()) return "an address of the wrong length";
  if (hash != keyed_hash(secret, bytes.substr(0, bytes.size() - sizeof hash)))
    return "an address that was changed on its way, or another job's";
  return nullptr;
}

// What a rank's messages to another carry.
inline uint64_t cookie(std::string_view secret, uint32_t source, uint32_t target) {
  const uint32_t pair[] = {source, target};
  return keyed_hash(secret, {reinterpret_cast<const char*>(pair), sizeof pair});
}

}  // namespace ompl::conduit
