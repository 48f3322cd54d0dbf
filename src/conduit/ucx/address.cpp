// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ucx/address.hpp"

#include <utility>

#include "conduit/common/sealed.hpp"

namespace ompl::conduit::ucx {
namespace {
constexpr std::string_view kMagic = "UCX4";

bool get_workers(ByteReader& in, uint32_t slots, WorkerAddresses* out) {
  in.get(&out->ip);
  in.get(&out->key);
  std::string worker;
  for (uint16_t port = 0; out->slots.size() < slots && in.get(&worker) && in.get(&port);) {
    out->slots.push_back(worker);
    out->ports.push_back(port);
  }
  return out->slots.size() == slots;
}

}  // namespace

std::string Address::encode(std::string_view secret) const {
  ByteWriter out;
  out.add(kMagic).add(version).add(challenge).add(std::string_view(host.encode())).add(base);
  out.add(static_cast<uint32_t>(slots())).add(static_cast<uint32_t>(networks.size()));
  for (const WorkerAddresses& network : networks) {
    out.add(std::string_view(network.ip)).add(std::string_view(network.key));
    for (std::size_t slot = 0; slot < slots(); ++slot)
      out.add(std::string_view(network.slots[slot])).add(network.ports[slot]);
  }
  return seal(out, secret);
}

const char* Address::parse(std::string_view bytes, std::string_view secret) {
  ByteReader in(bytes);
  std::string magic;
  std::string host_bytes;
  Address read;
  uint32_t count = 0;
  uint32_t slot_count = 0;
  if (!in.get(&magic) || magic != kMagic) return kNotAnAddress;
  in.get(&read.version);
  in.get(&read.challenge);
  in.get(&host_bytes);
  in.get(&read.base);
  if (!in.get(&slot_count) || !in.get(&count) || slot_count == 0 || count == 0)
    return "an address without endpoints";
  for (WorkerAddresses network; count > 0 && get_workers(in, slot_count, &network); --count)
    read.networks.push_back(std::exchange(network, {}));
  if (count > 0) return "an address of the wrong length";
  if (const char* const wrong = check_seal(in, bytes, secret)) return wrong;
  if (const char* const wrong = read.host.parse(host_bytes)) return wrong;
  *this = std::move(read);
  return nullptr;
}

}  // namespace ompl::conduit::ucx
