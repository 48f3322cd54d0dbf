// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/common/doorkeeper.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "util/log.hpp"

namespace ompl::conduit {
namespace {

constexpr int64_t kTimeToSpeakMs = 10'000;
constexpr int64_t kLookEveryMs = 4;
constexpr int64_t kExamineEveryMs = 1000;  // while there are strangers
constexpr int kGrowth = 32;                // descriptors

// Of a TCP socket; 0 if it is something else.
uint16_t local_port(int fd) {
  sockaddr_storage name{};
  socklen_t length = sizeof name;
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0 ||
      ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
    return 0;
  return port_of(name);
}

bool listens(int fd) {
  int yes = 0;
  socklen_t size = sizeof yes;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) == 0 && yes != 0;
}

// Bytes that have come on a connection, read or not.
uint64_t received(int fd) {
  // The C library's structure ends before what the kernel tells since 4.1: tcpi_bytes_received stands at this place.
  constexpr std::size_t kPlace = 128;
  std::array<char, 256> told{};
  socklen_t size = told.size();
  uint64_t bytes = 0;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, told.data(), &size) != 0 || size < kPlace + sizeof bytes)
    return UINT64_MAX;
  std::memcpy(&bytes, told.data() + kPlace, sizeof bytes);
  return bytes;
}

// What tells a socket from the next one with that descriptor.
uint64_t name_of(int fd) {
  auto cookie = static_cast<uint64_t>(fd);  // on kernels before 4.12
  socklen_t size = sizeof cookie;
  ::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size);
  return cookie;
}

template <class Function>
void for_each_descriptor(DIR* directory, Function&& function) {
  ::rewinddir(directory);
  while (const dirent* const entry = ::readdir(directory)) {
    if (entry->d_name[0] != '.') function(static_cast<int>(std::strtol(entry->d_name, nullptr, 10)));
  }
}

}  // namespace

uint16_t port_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

std::set<uint16_t> listening_ports() {
  std::set<uint16_t> out;
  DIR* const directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return out;
  for_each_descriptor(directory, [&](int fd) {
    if (const uint16_t port = local_port(fd); port != 0 && listens(fd)) out.insert(port);
  });
  ::closedir(directory);
  return out;
}

bool Doorkeeper::has_room() {
  constexpr int kWanted = 16;
  std::array<int, kWanted> taken;
  std::ranges::generate(taken, [] { return ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0); });
  // Also true where there is no standard error to copy.
  const bool none = std::ranges::find(taken, -1) != taken.end() && errno == EMFILE;
  for (const int fd : taken) {
    if (fd >= 0) ::close(fd);
  }
  return !none;
}

void Doorkeeper::guard(uint16_t port) {
  if (!descriptors_) descriptors_.reset(::opendir("/proc/self/fd"));
  if (!descriptors_) return;
  for_each_descriptor(descriptors_.get(), [this, port](int fd) {
    if (local_port(fd) != port || !listens(fd)) return;
    ::setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &kDeferSeconds, sizeof(int));
    listeners_.push_back(fd);
  });
  ports_.push_back(port);
}

// The system gives the lowest descriptor that is free: where it has risen, others have been taken.
bool Doorkeeper::has_grown() {
  const int lowest = ::fcntl(::dirfd(descriptors_.get()), F_DUPFD_CLOEXEC, 0);
  if (lowest < 0) return true;  // there is none
  ::close(lowest);
  if (lowest < lowest_free_) lowest_free_ = lowest;
  return lowest >= lowest_free_ + kGrowth;
}

unsigned Doorkeeper::look(int64_t now, const Known& known) {
  if (now < next_look_ || ports_.empty()) return 0;
  next_look_ = now + kLookEveryMs;
  try {
    if (now >= next_examination_ || has_grown()) examine(now, known);
  } catch (const std::bad_alloc&) {  // it looks again
  }
  return waiting();
}

// Of a socket that listens the kernel tells the length of its queue as that of what is not acknowledged.
unsigned Doorkeeper::waiting() const {
  unsigned most = 0;
  for (const int fd : listeners_) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_state == TCP_LISTEN)
      most = std::max(most, info.tcpi_unacked);
  }
  return most;
}

void Doorkeeper::examine(int64_t now, const Known& known) {
  std::map<uint64_t, int64_t> still_there;
  std::size_t silent = 0;
  std::size_t ended = 0;
  for_each_descriptor(descriptors_.get(), [&](int fd) {
    const uint16_t port = local_port(fd);
    sockaddr_storage peer{};
    socklen_t length = sizeof peer;
    if (port == 0 || std::ranges::find(ports_, port) == ports_.end() ||
        ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0)
      return;
    const uint64_t name = name_of(fd);
    const bool is_silent = received(fd) < least_;
    if (!is_silent && (!known || known(peer))) return;
    const auto before = strangers_.find(name);
    const int64_t since = before != strangers_.end() ? before->second : now;
    const bool too_many = is_silent && ++silent > kMostSilent;
    if (now - since < kTimeToSpeakMs && !too_many) {
      still_there[name] = since;
    } else if (::shutdown(fd, SHUT_RDWR) == 0) {
      ++ended;
    }
  });
  strangers_ = std::move(still_there);
  next_examination_ = now + (strangers_.empty() ? kTimeToSpeakMs / 2 : kExamineEveryMs);
  if (ended > 0) log::info("ended {} connections that do not belong to this job", ended);
  const int lowest = ::fcntl(::dirfd(descriptors_.get()), F_DUPFD_CLOEXEC, 0);
  if (lowest >= 0) ::close(lowest);
  lowest_free_ = lowest >= 0 ? lowest : 0;
}

}  // namespace ompl::conduit
