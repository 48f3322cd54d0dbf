// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/tcp/socket.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "conduit/common/doorkeeper.hpp"
#include "conduit/common/liveness_probe.hpp"
#include "util/status.hpp"

namespace ompl::conduit::tcp {
namespace {

constexpr int kBacklog = 4096;  // of ranks that connect at once
// A silent connection is asked after 10 s, and counts as cut off after kUnreachedMs.
constexpr int kIdleSeconds = 10;
constexpr int kAskSeconds = 5;
constexpr int kAsks = static_cast<int>(kUnreachedMs / 1000 - kIdleSeconds) / kAskSeconds;

bool set(int fd, int level, int name, int value) {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

Socket open_socket(int family) {
  return Socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

void Socket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

int listen_at(const std::vector<std::string>& ips, Socket* out, uint16_t* port) {
  if (ips.empty()) return fail(OMPL_ERR_UNSUPPORTED, "this host has no address of IP");
  SocketAddress address = listening_address(ips);
  Socket socket = open_socket(address.any.sa_family);
  const int fd = socket.get();
  if (fd >= 0 && address.any.sa_family == AF_INET6) {
    const bool v6_alone = std::ranges::none_of(ips, is_v4);
    set(fd, IPPROTO_IPV6, IPV6_V6ONLY, v6_alone ? 1 : 0);
  }
  socklen_t size = address.size();
  // TCP_DEFER_ACCEPT: who says nothing never gets into the queue, which a stopped rank would not empty.
  if (fd < 0 || !set(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, kDeferSeconds) ||
      ::bind(fd, &address.any, size) != 0 || ::listen(fd, kBacklog) != 0 ||
      ::getsockname(fd, &address.any, &size) != 0)
    return fail(OMPL_ERR_SYSTEM, "cannot listen for connections of other ranks: {}", error_text(errno));
  *port = address.port();
  *out = std::move(socket);
  return OMPL_OK;
}

int begin_connecting(const std::string& ip, uint16_t port, Socket* out) {
  const SocketAddress there = socket_address(ip, port);
  Socket socket = open_socket(there.any.sa_family);
  if (!socket.is_open()) return errno;
  prepare_connection(socket.get());
  if (::connect(socket.get(), &there.any, there.size()) != 0 && errno != EINPROGRESS) return errno;
  *out = std::move(socket);
  return 0;
}

int pending_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

void prepare_connection(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kAskSeconds);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, kAsks);
}

std::string peer_ip(int fd) {
  SocketAddress there{.v6 = {}};
  socklen_t size = sizeof there;
  return ::getpeername(fd, &there.any, &size) == 0 ? ip_of(there) : std::string();
}

const char* why_dead(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
    return "its descriptor was closed by this process";
  // TCP_USER_TIMEOUT would also end a connection to a process that is stopped, whose host answers.
  const bool repeats = info.tcpi_retransmits > 0 && info.tcpi_unacked > 0;
  return (repeats || info.tcpi_probes > 1) && info.tcpi_last_ack_recv > kUnreachedMs
             ? "the other host has acknowledged nothing for 30 s"
             : nullptr;
}

int send_whole(int fd, const void* bytes, std::size_t length) {
  const ssize_t sent = ::send(fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(length)) return 1;
  return sent < 0 && is_for_later(errno) ? 0 : -1;
}

int receive_whole(int fd, void* bytes, std::size_t length, std::size_t* have) {
  while (*have < length) {
    const ssize_t got =
        ::recv(fd, static_cast<std::byte*>(bytes) + *have, length - *have, MSG_DONTWAIT);
    if (got < 0 && is_for_later(errno)) return 0;
    if (got <= 0) return -1;
    *have += static_cast<std::size_t>(got);
  }
  return 1;
}

}  // namespace ompl::conduit::tcp
