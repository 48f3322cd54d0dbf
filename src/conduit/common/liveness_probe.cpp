// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/common/liveness_probe.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "arch/clock.hpp"
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

template <class Value>
bool set_option(int socket, int level, int name, const Value& value) {
  return ::setsockopt(socket, level, name, &value, sizeof value) == 0;
}

int open_socket(const SocketAddress& address) {
  return ::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

}  // namespace

LivenessListener::~LivenessListener() {
  if (listener_ >= 0) ::close(listener_);
}

int LivenessListener::open(const std::vector<std::string>& addresses, uint16_t* port) {
  if (addresses.empty()) return OMPL_OK;
  SocketAddress address = listening_address(addresses);
  socklen_t size = address.size();
  listener_ = open_socket(address);
  if (listener_ >= 0 && address.any.sa_family == AF_INET6)
    set_option(listener_, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  // TCP_DEFER_ACCEPT: who says nothing never gets into the queue, which a stopped rank would not empty.
  if (listener_ < 0 || !set_option(listener_, IPPROTO_TCP, TCP_DEFER_ACCEPT, kDeferSeconds) ||
      ::bind(listener_, &address.any, size) != 0 || ::listen(listener_, kBacklog) != 0 ||
      ::getsockname(listener_, &address.any, &size) != 0) {
    return fail(OMPL_ERR_SYSTEM, "cannot listen for those who ask whether this rank lives: {}",
                error_text(errno));
  }
  *port = address.port();
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
  const SocketAddress address = socket_address(ip, port);
  begin({reinterpret_cast<const char*>(&address), sizeof address});
}

void LivenessProbe::begin(std::string_view address) {
  address_ = {.v6 = {}};
  std::memcpy(&address_, address.data(), std::min(address.size(), sizeof address_));
  if (rule_ == Rule::kept) until_ = arch::now_ms() + kPatienceMs;
  ask();
}

void LivenessProbe::ask() {
  end();
  connected_ = false;
  answer_ = Answer::none;
  socket_ = open_socket(address_);
  if (socket_ < 0) {
    answer_ = answer_to(errno);
    return;
  }
  if (rule_ == Rule::accepted)
    set_option(socket_, SOL_SOCKET, SO_LINGER, linger{.l_onoff = 1, .l_linger = 0});
  if (::connect(socket_, &address_.any, address_.size()) != 0 && errno != EINPROGRESS)
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
LivenessProbe::Answer LivenessProbe::answer_to(int error) {
  error_ = error;
  if (error == 0) return Answer::lives;
  const bool dead =
      error == ECONNREFUSED || (rule_ == Rule::kept && (error == ECONNRESET || error == EPIPE));
  return dead ? Answer::dead : Answer::unreached;
}

void LivenessProbe::end() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

}  // namespace ompl::conduit
