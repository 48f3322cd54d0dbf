// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/tcp/address.hpp"

#include <utility>

#include "conduit/common/sealed.hpp"

namespace ompl::conduit::tcp {
namespace {
constexpr std::string_view kAddressMagic = "TCP1";
constexpr std::size_t kMostSlots = 64;
}  // namespace

std::string Address::encode(std::string_view secret) const {
  ByteWriter out;
  out.add(kAddressMagic).add(challenge).add(std::string_view(host.encode()));
  out.add(static_cast<uint32_t>(ports.size()));
  for (const uint16_t port : ports) out.add(port);
  return seal(out, secret);
}

const char* Address::parse(std::string_view bytes, std::string_view secret) {
  ByteReader in(bytes);
  std::string magic;
  std::string host_bytes;
  Address read;
  uint32_t count = 0;
  if (!in.get(&magic) || magic != kAddressMagic) return kNotAnAddress;
  in.get(&read.challenge);
  in.get(&host_bytes);
  if (!in.get(&count) || count == 0 || count > kMostSlots) return "an address without endpoints";
  for (uint16_t port = 0; read.ports.size() < count && in.get(&port);) read.ports.push_back(port);
  if (const char* const wrong = check_seal(in, bytes, secret)) return wrong;
  if (const char* const wrong = read.host.parse(host_bytes)) return wrong;
  *this = std::move(read);
  return nullptr;
}

}  // namespace ompl::conduit::tcp
