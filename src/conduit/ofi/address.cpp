// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "conduit/common/sealed.hpp"

namespace ompl::conduit::ofi {
namespace {

constexpr std::string_view kMagic = "OFI4";

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
  out.push_back(static_cast<char>(ips.size()));
  out.push_back(static_cast<char>(ips.empty() ? 0 : ips.front().size()));
  for (const std::string& ip : ips) out += ip;
  append(&out, network);
  append(&out, challenge);
  append(&out, base);
  append(&out, static_cast<uint16_t>(slots.size()));
  for (const Slot& slot : slots) {
    if (ips.empty()) {
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
  const std::size_t ip_count = in.number<uint8_t>();
  const std::size_t ip_size = in.number<uint8_t>();
  const bool is_ip = ip_size == sizeof(in_addr) || ip_size == sizeof(in6_addr);
  if (ip_count > kMaxIps || (ip_count != 0 ? !is_ip : ip_size != 0)) return "not an IP address";
  for (std::size_t i = 0; i < ip_count; ++i) read.ips.emplace_back(in.take(ip_size));
  read.network = in.number<uint64_t>();
  read.challenge = in.number<uint64_t>();
  read.base = in.number<uint64_t>();
  const std::size_t count = in.number<uint16_t>();
  for (std::size_t i = 0; i < count && !in.failed(); ++i) {
    Slot slot;
    if (read.ips.empty()) {
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
  if (listener.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(listener);
    ips = {{reinterpret_cast<const char*>(&v4.sin_addr), sizeof v4.sin_addr}};
    slot->port = ntohs(v4.sin_port);
    return true;
  }
  if (listener.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(listener);
    ips = {{reinterpret_cast<const char*>(&v6.sin6_addr), sizeof v6.sin6_addr}};
    slot->port = ntohs(v6.sin6_port);
    return true;
  }
  return false;
}

sockaddr_storage Address::listener(const Slot& slot, std::size_t place) const {
  sockaddr_storage out{};
  const std::string& ip = ips.at(place);
  if (ip.size() == sizeof(in_addr)) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(out);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(slot.port);
    std::memcpy(&v4.sin_addr, ip.data(), sizeof v4.sin_addr);
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(slot.port);
    std::memcpy(&v6.sin6_addr, ip.data(), sizeof v6.sin6_addr);
  }
  return out;
}

std::string Address::host() const {
  sockaddr_storage address{};
  std::string out;
  for (std::size_t i = 0; i < ips.size(); ++i) {
    address = listener(slots.front(), i);
    out += (i == 0 ? "" : ", ") + ip_text(reinterpret_cast<const sockaddr*>(&address));
  }
  if (!ips.empty()) return out;
  std::memcpy(&address, slots.front().name.data(), std::min(slots.front().name.size(), sizeof address));
  return ip_text(reinterpret_cast<const sockaddr*>(&address));
}

bool is_same_address(const sockaddr_storage& a, const sockaddr_storage& b) {
  if (a.ss_family != b.ss_family) return false;
  if (a.ss_family == AF_INET) {
    const auto& first = reinterpret_cast<const sockaddr_in&>(a);
    const auto& second = reinterpret_cast<const sockaddr_in&>(b);
    return first.sin_port == second.sin_port && first.sin_addr.s_addr == second.sin_addr.s_addr;
  }
  const auto& first = reinterpret_cast<const sockaddr_in6&>(a);
  const auto& second = reinterpret_cast<const sockaddr_in6&>(b);
  return first.sin6_port == second.sin6_port &&
         std::memcmp(&first.sin6_addr, &second.sin6_addr, sizeof first.sin6_addr) == 0;
}

std::string ip_text(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address != nullptr && address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address != nullptr && address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text, sizeof text);
  }
  return text;
}

}  // namespace ompl::conduit::ofi
