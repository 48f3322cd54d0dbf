// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/psm2/address.hpp"

#include <utility>

#include "conduit/common/sealed.hpp"

namespace ompl::conduit::psm2 {
namespace {
constexpr std::string_view kMagic = "PSM1";
constexpr std::size_t kMostSlots = 64;
}  // namespace

std::string Address::encode(std::string_view secret) const {
  ByteWriter out;
  out.add(kMagic).add(challenge).add(static_cast<uint8_t>(by_memory ? 1 : 0)).add(memory);
  out.add(std::string_view(host.encode())).add(port).add(static_cast<uint32_t>(slots.size()));
  for (const uint64_t slot : slots) out.add(slot);
  return seal(out, secret);
}

const char* Address::parse(std::string_view bytes, std::string_view secret) {
  ByteReader in(bytes);
  std::string magic;
  std::string host_bytes;
  Address read;
  uint8_t how = 0;
  uint32_t count = 0;
  if (!in.get(&magic) || magic != kMagic) return kNotAnAddress;
  in.get(&read.challenge);
  in.get(&how);
  in.get(&read.memory);
  in.get(&host_bytes);
  in.get(&read.port);
  if (!in.get(&count) || count == 0 || count > kMostSlots) return "an address without endpoints";
  for (uint64_t slot = 0; read.slots.size() < count && in.get(&slot);) read.slots.push_back(slot);
  if (const char* const wrong = check_seal(in, bytes, secret)) return wrong;
  if (const char* const wrong = read.host.parse(host_bytes)) return wrong;
  read.by_memory = how != 0;
  *this = std::move(read);
  return nullptr;
}

}  // namespace ompl::conduit::psm2
