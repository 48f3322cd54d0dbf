// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ucx/address.hpp"

#include "conduit/common/sealed.hpp"

namespace ompl::conduit::ucx {
namespace {
constexpr std::string_view kMagic = "UCX3";
}

std::string Address::encode(std::string_view secret) const {
  ByteWriter out;
  out.add(kMagic).add(version).add(challenge).add(network).add(base).add(key).add(
      static_cast<uint32_t>(slots.size()));
  for (const std::string& slot : slots) out.add(std::string_view(slot));
  return seal(out, secret);
}

const char* Address::parse(std::string_view bytes, std::string_view secret) {
  ByteReader in(bytes);
  std::string magic;
  Address read;
  uint32_t count = 0;
  if (!in.get(&magic) || magic != kMagic) return kNotAnAddress;
  in.get(&read.version);
  in.get(&read.challenge);
  in.get(&read.network);
  in.get(&read.base);
  in.get(&read.key);
  in.get(&count);
  for (std::string slot; count > 0 && in.get(&slot); --count) read.slots.push_back(slot);
  if (count > 0) return "an address of the wrong length";
  if (const char* const wrong = check_seal(in, bytes, secret)) return wrong;
  if (read.slots.empty()) return "an address without endpoints";
  *this = std::move(read);
  return nullptr;
}

}  // namespace ompl::conduit::ucx
