// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/shm/passing.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "arch/clock.hpp"
#include "util/secret.hpp"
#include "util/status.hpp"

namespace ompl::conduit::shm {
namespace {

constexpr int64_t kLimitMs = 10'000;   // for one gift
constexpr int64_t kSilenceMs = 2'000;  // of a connection; the sender connects and sends in one breath
constexpr std::size_t kMostVisitors = 128;
constexpr std::size_t kDescriptors = 4;
constexpr int64_t kAgainMs = 1;  // pause before another try to connect

struct Note {
  Proof proof;
  uint32_t from;
  uint32_t reserved;
};

// What the sender knows, by the word that the receiver has published.
Proof proof_of(uint64_t word, uint32_t from) {
  return prove({reinterpret_cast<const char*>(&word), sizeof word}, "shm gift", {from});
}

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

int open_socket() { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

void close_all(const Gift& gift) {
  for (const int fd : {gift.segment, gift.wake_read, gift.wake_write, gift.process}) {
    if (fd >= 0) ::close(fd);
  }
}

// As the kernel has noted it when the other side connected or listened.
bool same_user(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == ::geteuid();
}

// Every descriptor that came with the message, however many control messages brought them.
std::vector<int> descriptors_in(msghdr& header) {
  std::vector<int> out;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= part->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
      out.push_back(fd);
    }
  }
  return out;
}

}  // namespace

Passing::~Passing() {
  close();
  for (const auto& [rank, gift] : arrived_) close_all(gift);
}

void Passing::close() {
  for (const Visitor& visitor : visitors_) ::close(visitor.connection);
  visitors_.clear();
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

int Passing::open() {
  name_ = fmt::format("omnipgas-{:016x}{:016x}", unpredictable_number(), unpredictable_number());
  word_ = unpredictable_number();
  socket_ = open_socket();
  sockaddr_un address{};
  const socklen_t length = address_of(name_, &address);
  const char* call = "socket";
  if (socket_ >= 0) {
    call = "bind";
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), length) == 0) {
      call = "listen";
      if (::listen(socket_, SOMAXCONN) == 0) return OMPL_OK;
    }
  }
  return fail(OMPL_ERR_SYSTEM, "cannot listen on a Unix socket: {}", call_text(call, errno));
}

bool Passing::send(const std::string& name, uint64_t word, uint32_t from, const Gift& gift) {
  const int connection = open_socket();
  if (connection < 0) return false;
  sockaddr_un address{};
  const socklen_t length = address_of(name, &address);
  const int64_t limit = arch::now_ms() + kLimitMs;
  int result = 0;
  // EAGAIN: its queue is full, perhaps of strangers; it takes them away as this rank does meanwhile.
  while ((result = ::connect(connection, reinterpret_cast<sockaddr*>(&address), length)) != 0 &&
         errno == EAGAIN && arch::now_ms() < limit)
    serve(arch::now_ms() + kAgainMs);

  Envelope envelope;
  envelope.note = {.proof = proof_of(word, from), .from = from, .reserved = 0};
  cmsghdr* control = CMSG_FIRSTHDR(&envelope.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof gift);
  std::memcpy(CMSG_DATA(control), &gift, sizeof gift);
  static_assert(sizeof gift == kDescriptors * sizeof(int));
  const bool sent = result == 0 && same_user(connection) &&
                    ::sendmsg(connection, &envelope.header, MSG_NOSIGNAL) ==
                        static_cast<ssize_t>(sizeof envelope.note);
  ::close(connection);
  return sent;
}

bool Passing::receive(uint32_t from, Gift* gift) {
  const int64_t limit = arch::now_ms() + kLimitMs;
  while (!arrived_.contains(from)) {
    if (arch::now_ms() >= limit || !serve(limit)) return false;
  }
  *gift = arrived_[from];
  arrived_.erase(from);
  return true;
}

// Waits for whatever comes first, up to that time (ms), and takes it in. False: there is nothing to wait on.
bool Passing::serve(int64_t limit) {
  std::vector<pollfd> waited{{.fd = socket_, .events = POLLIN, .revents = 0}};
  for (const Visitor& visitor : visitors_) {
    waited.push_back({.fd = visitor.connection, .events = POLLIN, .revents = 0});
    limit = std::min(limit, visitor.until);
  }
  const int left = static_cast<int>(std::max<int64_t>(limit - arch::now_ms(), 0));
  if (::poll(waited.data(), waited.size(), left) < 0 && errno != EINTR) return false;
  std::size_t place = 1;
  for (auto visitor = visitors_.begin(); visitor != visitors_.end(); ++place) {
    if (waited[place].revents == 0) {
      ++visitor;
      continue;
    }
    hear(visitor->connection);
    visitor = visitors_.erase(visitor);
  }
  turn_away_late();
  if (waited[0].revents != 0) accept_all();
  return true;
}

void Passing::turn_away_late() {
  const int64_t now = arch::now_ms();
  while (!visitors_.empty() && (visitors_.front().until <= now || visitors_.size() > kMostVisitors)) {
    ::close(visitors_.front().connection);
    visitors_.pop_front();
  }
}

// As many as have come by now: others may come as fast as they are taken.
void Passing::accept_all() {
  for (int i = 0; i < SOMAXCONN; ++i) {
    const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) return;
    welcome(connection);
  }
}

void Passing::welcome(int connection) {
  pollfd said{.fd = connection, .events = POLLIN, .revents = 0};
  if (!same_user(connection)) {
    ::close(connection);  // unread: what came with it is the kernel's to close
  } else if (::poll(&said, 1, 0) == 1) {
    hear(connection);
  } else {
    visitors_.push_back({.connection = connection, .until = arch::now_ms() + kSilenceMs});
    turn_away_late();
  }
}

// Takes one message, which is there, and closes the connection.
void Passing::hear(int connection) {
  Envelope envelope;
  const ssize_t got = ::recvmsg(connection, &envelope.header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  ::close(connection);
  if (got < 0) return;
  const std::vector<int> came = descriptors_in(envelope.header);
  const Note& note = envelope.note;
  const bool whole = got == static_cast<ssize_t>(sizeof note) && came.size() == kDescriptors &&
                     (envelope.header.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0;
  if (whole && same_proof(note.proof, proof_of(word_, note.from)) && !arrived_.contains(note.from)) {
    arrived_[note.from] = {
        .segment = came[0], .wake_read = came[1], .wake_write = came[2], .process = came[3]};
    return;
  }
  for (const int fd : came) ::close(fd);
}

}  // namespace ompl::conduit::shm
