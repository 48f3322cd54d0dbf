// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/shm/passing.hpp"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "util/status.hpp"

namespace ompl::conduit::shm {
namespace {

constexpr std::chrono::seconds kLimit{10};
constexpr std::size_t kDescriptors = 4;

struct Note {
  uint64_t secret;
  uint32_t from;
  uint32_t reserved;
};

// A message of one Note with the descriptors of a Gift beside it.
struct Envelope {
  Note note{};
  iovec piece{.iov_base = &note, .iov_len = sizeof note};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptors * sizeof(int))> control{};
  msghdr header{};

  Envelope() {
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
};

// The abstract address of a name, and its length.
socklen_t address_of(const std::string& name, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address->sun_path - 1);
  std::memcpy(address->sun_path + 1, name.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

void close_all(const Gift& gift) {
  for (const int fd : {gift.segment, gift.wake_read, gift.wake_write, gift.process}) {
    if (fd >= 0) ::close(fd);
  }
}

bool same_user(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == ::getuid();
}

}  // namespace

Passing::~Passing() {
  for (const auto& [rank, gift] : arrived_) close_all(gift);
  if (socket_ >= 0) ::close(socket_);
}

int Passing::open() {
  std::array<uint64_t, 3> random{};
  if (::getrandom(random.data(), sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    return fail(OMPL_ERR_SYSTEM, "getrandom: {}", error_text(errno));
  }
  name_ = fmt::format("omnipgas-{:016x}{:016x}", random[0], random[1]);
  secret_ = random[2];
  socket_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  const socklen_t length = address_of(name_, &address);
  if (socket_ < 0 || ::bind(socket_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::listen(socket_, SOMAXCONN) != 0) {
    return fail(OMPL_ERR_SYSTEM, "cannot listen on a Unix socket: {}", error_text(errno));
  }
  return OMPL_OK;
}

bool Passing::send(const std::string& name, uint64_t secret, uint32_t from, const Gift& gift) {
  const int connection = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  const socklen_t length = address_of(name, &address);
  Envelope envelope;
  envelope.note = {.secret = secret, .from = from, .reserved = 0};
  cmsghdr* control = CMSG_FIRSTHDR(&envelope.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof gift);
  std::memcpy(CMSG_DATA(control), &gift, sizeof gift);
  static_assert(sizeof gift == kDescriptors * sizeof(int));
  const bool sent = connection >= 0 &&
                    ::connect(connection, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                    ::sendmsg(connection, &envelope.header, MSG_NOSIGNAL) == sizeof envelope.note;
  if (connection >= 0) ::close(connection);
  return sent;
}

bool Passing::receive(uint32_t from, Gift* gift) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (!arrived_.contains(from)) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd waited{.fd = socket_, .events = POLLIN, .revents = 0};
    if (left.count() <= 0 || ::poll(&waited, 1, static_cast<int>(left.count())) < 0) return false;
    accept_one();
  }
  *gift = arrived_[from];
  arrived_.erase(from);
  return true;
}

void Passing::accept_one() {
  const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (connection < 0) return;
  // The sender connects and sends in one breath; a stranger who does not is not waited for long.
  pollfd waited{.fd = connection, .events = POLLIN, .revents = 0};
  ::poll(&waited, 1, 1000);
  Envelope envelope;
  const ssize_t got = ::recvmsg(connection, &envelope.header, MSG_CMSG_CLOEXEC);
  const cmsghdr* control = got > 0 ? CMSG_FIRSTHDR(&envelope.header) : nullptr;
  if (control != nullptr && control->cmsg_type == SCM_RIGHTS &&
      control->cmsg_len == CMSG_LEN(sizeof(Gift))) {
    Gift gift;
    std::memcpy(&gift, CMSG_DATA(control), sizeof gift);
    const bool welcome = got == sizeof envelope.note && envelope.note.secret == secret_ &&
                         same_user(connection) && arrived_.emplace(envelope.note.from, gift).second;
    if (!welcome) close_all(gift);
  }
  ::close(connection);
}

}  // namespace ompl::conduit::shm
