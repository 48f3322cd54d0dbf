// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/common/liveness_probe.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "arch/clock.hpp"
#include "conduit/common/bridge.hpp"
#include "conduit/common/doorkeeper.hpp"
#include "util/status.hpp"

namespace ompl::conduit {
namespace {

constexpr int kBacklog = 4096;    // of ranks that ask at once
constexpr int kMostAnswers = 64;  // at once: strangers may come as fast as they are closed

// Rule::kept: time for a listener to take a connection, and then for a dying one to hang up. A dying process closes what
// it has in some order.
constexpr int64_t kPatienceMs = 1000;
constexpr int64_t kSettleMs = 50;

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

socklen_t size_of(const SocketAddress& address) {
  return address.any.sa_family == AF_INET ? sizeof address.v4 : sizeof address.v6;
}

SocketAddress make_address(const std::string& ip, uint16_t port) {
  SocketAddress out{};
  if (ip.size() == sizeof out.v4.sin_addr) {
    out.v4.sin_family = AF_INET;
    out.v4.sin_port = htons(port);
    std::memcpy(&out.v4.sin_addr, ip.data(), ip.size());
  } else {
    out.v6.sin6_family = AF_INET6;
    out.v6.sin6_port = htons(port);
    std::memcpy(&out.v6.sin6_addr, ip.data(), std::min(ip.size(), sizeof out.v6.sin6_addr));
  }
  return out;
}

std::string bytes_of(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto& ip = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    return {reinterpret_cast<const char*>(&ip), sizeof ip};
  }
  const auto& ip = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return {reinterpret_cast<const char*>(&ip), sizeof ip};
}

// IPv4 before IPv6; link-local addresses need an interface number at the other side: no. "" if there is none.
std::string ip_of(unsigned interface) {
  char name[IF_NAMESIZE] = {};
  ifaddrs* list = nullptr;
  if (if_indextoname(interface, name) == nullptr || getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  std::string found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || std::strcmp(entry->ifa_name, name) != 0) continue;
    if (entry->ifa_addr->sa_family == AF_INET) return bytes_of(entry->ifa_addr);
    if (entry->ifa_addr->sa_family != AF_INET6 || !found.empty()) continue;
    const auto& ip = reinterpret_cast<const sockaddr_in6*>(entry->ifa_addr)->sin6_addr;
    if (!IN6_IS_ADDR_LINKLOCAL(&ip)) found = bytes_of(entry->ifa_addr);
  }
  return found;
}

template <class Value>
bool set_option(int socket, int level, int name, const Value& value) {
  return ::setsockopt(socket, level, name, &value, sizeof value) == 0;
}

int open_socket(const SocketAddress& address) {
  return ::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

}  // namespace

unsigned liveness_interface(const std::string& name) {
  if (const unsigned found = ::if_nametoindex(name.c_str()); found != 0) return found;
  ifaddrs* list = nullptr;
  unsigned bridge = 0;
  if (getifaddrs(&list) != 0) return 0;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const unsigned number = ::if_nametoindex(entry->ifa_name);
    constexpr unsigned kWanted = IFF_UP | IFF_RUNNING;
    if ((entry->ifa_flags & (kWanted | IFF_LOOPBACK)) != kWanted || ip_of(number).empty()) continue;
    if (!is_bridge(entry->ifa_name)) return number;
    if (bridge == 0) bridge = number;
  }
  return bridge;
}

std::string ip_text(const std::string& ip) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(ip.size() == sizeof(in_addr) ? AF_INET : AF_INET6, ip.data(), text.data(), text.size());
  return text.data();
}

LivenessListener::~LivenessListener() {
  if (listener_ >= 0) ::close(listener_);
}

int LivenessListener::open(unsigned interface, std::string* ip, uint16_t* port) {
  const std::string bytes = ip_of(interface);
  if (bytes.empty()) return OMPL_OK;
  SocketAddress address = make_address(bytes, 0);
  socklen_t size = size_of(address);
  listener_ = open_socket(address);
  // TCP_DEFER_ACCEPT: who says nothing never gets into the queue, which a stopped rank would not empty.
  if (listener_ < 0 || !set_option(listener_, IPPROTO_TCP, TCP_DEFER_ACCEPT, kDeferSeconds) ||
      ::bind(listener_, &address.any, size) != 0 || ::listen(listener_, kBacklog) != 0 ||
      ::getsockname(listener_, &address.any, &size) != 0) {
    return fail(OMPL_ERR_SYSTEM, "cannot listen for those who ask whether this rank lives: {}",
                error_text(errno));
  }
  *ip = bytes;
  *port = ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
  return OMPL_OK;
}

void LivenessListener::answer() const {
  if (listener_ < 0) return;
  for (int i = 0; i < kMostAnswers; ++i) {
    const int asker = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (asker < 0) return;
    ::close(asker);
  }
}

void LivenessProbe::begin(const std::string& ip, uint16_t port) {
  end();
  answer_ = Answer::none;
  if (port == 0) return;
  const SocketAddress address = make_address(ip, port);
  begin({reinterpret_cast<const char*>(&address), sizeof address});
}

void LivenessProbe::begin(std::string_view address) {
  address_ = {};
  std::memcpy(&address_, address.data(), std::min(address.size(), sizeof address_));
  if (rule_ == Rule::kept) until_ = arch::now_ms() + kPatienceMs;
  ask();
}

void LivenessProbe::ask() {
  end();
  connected_ = false;
  answer_ = Answer::none;
  SocketAddress address{.v6 = address_};
  socket_ = open_socket(address);
  if (socket_ < 0) {
    if (rule_ == Rule::kept) answer_ = Answer::unreached;
    return;
  }
  if (rule_ == Rule::accepted)
    set_option(socket_, SOL_SOCKET, SO_LINGER, linger{.l_onoff = 1, .l_linger = 0});
  if (::connect(socket_, &address.any, size_of(address)) != 0 && errno != EINPROGRESS)
    answer_ = answer_to(errno);
}

LivenessProbe::Answer LivenessProbe::look() {
  if (socket_ < 0 || answer_ != Answer::none) return answer_;
  const int64_t now = rule_ == Rule::kept ? arch::now_ms() : 0;
  pollfd events{.fd = socket_, .events = POLLIN | POLLOUT, .revents = 0};
  const bool ready = ::poll(&events, 1, 0) == 1;
  if (!connected_) {
    if (!ready) return answer_ = now > until_ ? Answer::silent : Answer::none;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0 || rule_ == Rule::accepted) return answer_ = answer_to(error);
    connected_ = true;
    until_ = now + kSettleMs;
  } else if ((events.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
    ask();  // it hung up
    if (now > until_) answer_ = Answer::silent;
  } else if (now > until_) {
    answer_ = Answer::lives;
  }
  return answer_;
}

// What a connection that was asked for ended with.
LivenessProbe::Answer LivenessProbe::answer_to(int error) const {
  if (error == 0) return Answer::lives;
  const bool dead =
      error == ECONNREFUSED || (rule_ == Rule::kept && (error == ECONNRESET || error == EPIPE));
  return dead ? Answer::dead : Answer::unreached;
}

void LivenessProbe::end() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

}  // namespace ompl::conduit
