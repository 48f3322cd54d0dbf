// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/verbs/address.hpp"

#include <algorithm>

#include "conduit/verbs/wire.hpp"
#include "util/bytes.hpp"

namespace ompl::conduit::verbs {
namespace {

constexpr uint8_t kVersion = 4;
// So many of them; nothing is allocated beyond what is there.
bool get_numbers(ByteReader& reader, uint32_t count, std::vector<uint32_t>* out) {
  for (uint32_t number = 0; out->size() < count && reader.get(&number);) out->push_back(number);
  return out->size() == count;
}

}  // namespace

std::string Address::encode() const {
  ByteWriter out;
  out.add(kVersion)
      .add(std::string_view(reinterpret_cast<const char*>(gid.raw), sizeof gid.raw))
      .add(lid)
      .add(ethernet)
      .add(static_cast<uint8_t>(transport))
      .add(qkey)
      .add(challenge)
      .add(segment)
      .add(keys)
      .add(keys_key)
      .add(std::string_view(host.encode()))
      .add(liveness_port)
      .add(static_cast<uint32_t>(slots.size()));
  for (const uint32_t number : slots) out.add(number);
  if (transport == Transport::xrc) out.add(node);
  for (const uint32_t number : queues) out.add(number);
  return out.bytes();
}

const char* Address::parse(std::string_view text) {
  ByteReader reader(text);
  Address read;
  uint8_t version = 0;
  uint32_t count = 0;
  uint8_t kind = 0;
  std::string gid_bytes;
  if (!reader.get(&version) || version != kVersion)
    return "published by another version of the library: use one version on all ranks";
  reader.get(&gid_bytes);
  reader.get(&read.lid);
  reader.get(&read.ethernet);
  reader.get(&kind);
  reader.get(&read.qkey);
  reader.get(&read.challenge);
  reader.get(&read.segment);
  reader.get(&read.keys);
  reader.get(&read.keys_key);
  std::string host_bytes;
  reader.get(&host_bytes);
  reader.get(&read.liveness_port);
  if (!reader.get(&count)) return "cut off";
  const bool xrc = kind == static_cast<uint8_t>(Transport::xrc);
  if (!get_numbers(reader, count, &read.slots) || (xrc && !reader.get(&read.node)) ||
      (xrc && !get_numbers(reader, count, &read.queues)) || !reader.complete() || count == 0)
    return "of a wrong length";
  if (std::ranges::max(read.slots) > kLargestNumber) return "a queue pair number is too large";
  if (xrc && std::ranges::max(read.queues) > kLargestNumber)
    return "the number of a receive queue is too large";
  if (gid_bytes.size() != sizeof gid.raw || read.ethernet > 1) return "names no port";
  if (read.host.parse(host_bytes) != nullptr) return "names no IP address";
  if (kind > static_cast<uint8_t>(Transport::dc)) return "names no transport";
  read.transport = static_cast<Transport>(kind);
  gid_bytes.copy(reinterpret_cast<char*>(read.gid.raw), sizeof read.gid.raw);
  *this = std::move(read);
  return nullptr;
}

}  // namespace ompl::conduit::verbs
