// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/probe.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace ompl::conduit::ofi {
namespace {

constexpr int64_t kPatienceMs = 1000;  // for an answer
// A dying process closes what it has in some order: a listener that lives does not hang up in this time.
constexpr int64_t kSettleMs = 50;

bool says_nobody(int error) { return error == ECONNREFUSED || error == ECONNRESET || error == EPIPE; }

}  // namespace

void Probe::stop() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void Probe::start(std::string_view name, int64_t now_ms) {
  address_ = {};
  std::memcpy(&address_, name.data(), std::min(name.size(), sizeof address_));
  until_ = now_ms + kPatienceMs;
  connect();
}

void Probe::connect() {
  stop();
  connected_ = false;
  answer_ = Answer::none_yet;
  socket_ = ::socket(address_.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  const socklen_t length = address_.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (socket_ >= 0 && (::connect(socket_, reinterpret_cast<const sockaddr*>(&address_), length) == 0 ||
                       errno == EINPROGRESS)) {
    return;
  }
  answer_ = says_nobody(errno) ? Answer::dead : Answer::unreachable;
}

Probe::Answer Probe::look(int64_t now_ms) {
  if (answer_ != Answer::none_yet) return answer_;
  pollfd events{.fd = socket_, .events = POLLIN | POLLOUT, .revents = 0};
  ::poll(&events, 1, 0);
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0 && !connected_) {
    answer_ = says_nobody(error) ? Answer::dead : Answer::unreachable;
  } else if (connected_ && (events.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
    connect();  // it hung up: ask again
    if (now_ms > until_) answer_ = Answer::silent;
  } else if (!connected_ && (events.revents & POLLOUT) != 0) {
    connected_ = true;
    until_ = now_ms + kSettleMs;
  } else if (now_ms > until_) {
    answer_ = connected_ ? Answer::alive : Answer::silent;
  }
  if (answer_ != Answer::none_yet) stop();
  return answer_;
}

}  // namespace ompl::conduit::ofi
