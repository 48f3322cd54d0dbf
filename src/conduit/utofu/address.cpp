// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/utofu/address.hpp"

#include "conduit/common/sealed.hpp"

namespace ompl::conduit::utofu {
namespace {
constexpr std::string_view kMagic = "UTF2";
}

std::string Address::encode(std::string_view secret) const {
  ByteWriter out;
  out.add(kMagic).add(challenge).add(static_cast<uint32_t>(slots.size()));
  for (const uint64_t slot : slots) out.add(slot);
  return seal(out, secret);
}

const char* Address::parse(std::string_view bytes, std::string_view secret) {
  ByteReader in(bytes);
  std::string magic;
  Address read;
  uint32_t count = 0;
  if (!in.get(&magic) || magic != kMagic) return kNotAnAddress;
  in.get(&read.challenge);
  in.get(&count);
  for (uint64_t slot = 0; count > 0 && in.get(&slot); --count) read.slots.push_back(slot);
  if (count > 0) return "an address of the wrong length";
  if (const char* const wrong = check_seal(in, bytes, secret)) return wrong;
  if (read.slots.empty()) return "an address without endpoints";
  *this = std::move(read);
  return nullptr;
}

}  // namespace ompl::conduit::utofu
