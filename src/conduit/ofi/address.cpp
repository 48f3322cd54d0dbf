// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/address.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "conduit/common/doorkeeper.hpp"
#include "conduit/common/ip_address.hpp"
#include "conduit/common/sealed.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr std::string_view kMagic = "OFI5";

template <class Integer>
void append(std::string* out, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// Reads from the front of `text_`; after the first read beyond its end everything is zero or empty.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  template <class Integer>
  Integer number() {
    uint64_t value = 0;
    const std::string_view bytes = take(sizeof(Integer));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    return static_cast<Integer>(value);
  }
  std::string_view take(std::size_t length) {
    if (length > text_.size()) {
      failed_ = true;
      text_ = {};
      return {};
    }
    const std::string_view bytes = text_.substr(0, length);
    text_.remove_prefix(length);
    return bytes;
  }
  [[nodiscard]] bool at_end() const { return !failed_ && text_.empty(); }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  std::string_view text_;
  bool failed_ = false;
};

}  // namespace

std::string Address::encode() const {
  std::string out(kMagic);
  out.push_back(static_cast<char>(provider.size()));
  out += provider;
  const std::string addresses = host.encode();
  append(&out, static_cast<uint16_t>(addresses.size()));
  out += addresses;
  append(&out, challenge);
  append(&out, base);
  append(&out, static_cast<uint16_t>(slots.size()));
  for (const Slot& slot : slots) {
    if (host.list.empty()) {
      out.push_back(static_cast<char>(slot.name.size()));
      out += slot.name;
    } else {
      append(&out, slot.port);
    }
    append(&out, slot.key);
  }
  return out;
}

const char* Address::parse(std::string_view text) {
  Reader in(text);
  Address read;
  if (in.take(kMagic.size()) != kMagic) return kNotAnAddress;
  read.provider = in.take(in.number<uint8_t>());
  if (const char* const wrong = read.host.parse(in.take(in.number<uint16_t>())); wrong != nullptr)
    return wrong;
  read.challenge = in.number<uint64_t>();
  read.base = in.number<uint64_t>();
  const std::size_t count = in.number<uint16_t>();
  for (std::size_t i = 0; i < count && !in.failed(); ++i) {
    Slot slot;
    if (read.host.list.empty()) {
      slot.name = in.take(in.number<uint8_t>());
    } else {
      slot.port = in.number<uint16_t>();
    }
    slot.key = in.number<uint64_t>();
    read.slots.push_back(std::move(slot));
  }
  if (!in.at_end()) return "an address of the wrong length";
  if (count == 0) return "an address without endpoints";
  for (const Slot& slot : read.slots) {
    if (slot.name.size() > kMaxName || (slot.port == 0 && slot.name.empty()))
      return "an address with port 0, or with no name or one that is too long";
  }
  *this = std::move(read);
  return nullptr;
}

bool Address::take(const sockaddr_storage& listener, Slot* slot) {
  const std::string ip = ip_of(reinterpret_cast<const sockaddr*>(&listener));
  if (ip.empty()) return false;
  host.list = {{.ip = ip}};
  slot->port = port_of(listener);
  return true;
}

std::string Address::host_text() const {
  if (!host.list.empty()) return host.text();
  sockaddr_storage address{};
  std::memcpy(&address, slots.front().name.data(), std::min(slots.front().name.size(), sizeof address));
  return ip_text(ip_of(reinterpret_cast<const sockaddr*>(&address)));
}

bool is_same_address(const sockaddr_storage& a, const sockaddr_storage& b) {
  const std::string ip = ip_of(reinterpret_cast<const sockaddr*>(&a));
  return !ip.empty() && ip == ip_of(reinterpret_cast<const sockaddr*>(&b)) && port_of(a) == port_of(b);
}

}  // namespace ompl::conduit::ofi
