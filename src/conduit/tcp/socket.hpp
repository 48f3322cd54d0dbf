// SPDX-License-Identifier: BSD-3-Clause
// TCP sockets: nonblocking, closed on exec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "conduit/common/ip_address.hpp"

namespace ompl::conduit::tcp {

// Owns a descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

// Listens at all of `ips`, which are this host's, at a port of the system's choice: *port, in host byte order.
int listen_at(const std::vector<std::string>& ips, Socket* out, uint16_t* port);

// Begins to connect. 0, or the system's error; a connection that is under way is none.
int begin_connecting(const std::string& ip, uint16_t port, Socket* out);
// The error that the system has noted of a socket, 0 if none.
int pending_error(int fd);

// For connections: small messages at once, and the system asks whether the other side is there.
void prepare_connection(int fd);

// The address of the other side; "" if there is none.
std::string peer_ip(int fd);

// What has become of a connection on which nothing was heard, by the system: null if it may still work, else why not. The
// program has closed its descriptor; or the other host has acknowledged nothing of what is sent again and again for
// kUnreachedMs. A host that answers, but whose process reads nothing, is no reason.
const char* why_dead(int fd);

// Sends or receives exactly `length` bytes, which fit into a fresh connection's buffer. 1: done; 0: not yet, nothing was moved;
// -1: the connection is of no use.
int send_whole(int fd, const void* bytes, std::size_t length);
// Bytes that have come so far stand in *have.
int receive_whole(int fd, void* bytes, std::size_t length, std::size_t* have);

}  // namespace ompl::conduit::tcp
