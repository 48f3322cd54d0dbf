// SPDX-License-Identifier: BSD-3-Clause
// What ranks tell each other so that strangers cannot: with a hash that needs the job's secret.
//
// Each rank publishes a challenge with its address: a number of this process alone. What others prove to it they prove
// for that challenge, so nothing that was said to one process is of use to say to another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "util/bytes.hpp"
#include "util/secret.hpp"

namespace ompl::conduit {

// Why bytes that begin otherwise than this conduit's addresses are refused.
inline constexpr const char* kNotAnAddress =
    "not an address of this conduit, or published by another version of the library: use one version "
    "on all ranks";

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

// What the messages of rank `source` to rank `target` carry; `challenge` is the target's. Whoever learns one learns no
// other, and nothing about the secret.
inline uint64_t cookie(std::string_view secret, uint32_t source, uint32_t target, uint64_t challenge) {
  return prove(secret, "cookie", {source, target, challenge})[0];
}

}  // namespace ompl::conduit
