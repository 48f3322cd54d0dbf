// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/tcp/endpoint.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "arch/clock.hpp"
#include "util/status.hpp"

namespace ompl::conduit::tcp {
namespace {

constexpr int64_t kGoodbyeMs = 100;
constexpr std::size_t kAtOnce = 8;  // answers to gets in one call of the system
// Data of so many bytes are copied where a socket has taken only a part, beside the rest of frame and record.
constexpr std::size_t kCopiedData = Outgoing::kCopied - 2 * kMaxHead;

iovec piece(const void* bytes, std::size_t length) { return {const_cast<void*>(bytes), length}; }

ssize_t send_pieces(int fd, const iovec* pieces, std::size_t count) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = count;
  return ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

TcpEndpoint::TcpEndpoint(const SharedState& shared, uint32_t slot)
    : shared_(shared),
      connections_(shared, slot),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kMaxHead + kRead)) {
  readable_.reserve(Connections::kEvents);
}

int TcpEndpoint::open(const std::vector<std::string>& ips, uint16_t* port) {
  return connections_.open(ips, port);
}

TcpEndpoint::~TcpEndpoint() {
  if (connections_.descriptor() < 0) return;  // it was never open
  drain(*this, arch::now_ms() + kGoodbyeMs, [this] { return parted(); });
}

// Tells the others that this end is meant; true once they have said so too: they have then read what was sent last. A socket
// closed earlier may reset its connection and take that with it.
bool TcpEndpoint::parted() {
  bool all = connections_.no_candidates();
  for (TcpLink* const link : connections_.up()) {
    if (!link->goodbye_said && !link->deaf && flush(*link)) {
      const Frame goodbye{.kind = Kind::goodbye};
      link->goodbye_said = is_posted(send(*link, {piece(&goodbye, sizeof goodbye)}));
    }
    all = all && (link->goodbye_said || link->deaf) && link->departed && link->out.empty();
  }
  return all;
}

// --- Posting -------------------------------------------------------------------------------------------

// The link to `rank` if it can be posted on, else null and the answer to give. What the other side waits for goes first.
TcpLink* TcpEndpoint::ready(uint32_t rank, Post* answer) {
  TcpLink* const link = sending(connections_.use(rank), answer);
  if (link == nullptr || !link->has_output() || flush(*link)) [[likely]]
    return link;
  *answer = link->sends() ? retry(Post::Reason::queue_full) : refusal(*link);
  return nullptr;
}

Post TcpEndpoint::put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) {
  Post answer;
  TcpLink* const link = ready(rank, &answer);
  if (link == nullptr) return answer;
  const Frame frame{.offset = offset, .length = static_cast<uint32_t>(length), .kind = Kind::put};
  return send(*link, {piece(&frame, sizeof frame), piece(source, length)});
}

Post TcpEndpoint::signal(uint32_t rank, const Signal& record) {
  Post answer;
  TcpLink* const link = ready(rank, &answer);
  if (link == nullptr) return answer;
  const RecordFrame frame(record);
  return send(*link, {piece(&frame, frame.size())});
}

Post TcpEndpoint::put_signal(uint32_t rank, const void* source, uint64_t offset, std::size_t length,
                             const Signal& record, bool* signalled) {
  *signalled = false;
  Post answer;
  TcpLink* const link = ready(rank, &answer);
  if (link == nullptr) return answer;
  const bool adds = fits_immediate(record);
  const Frame frame{.offset = offset,
                    .value = adds ? record.offset : 0,
                    .length = static_cast<uint32_t>(length),
                    .kind = adds ? Kind::put_add : Kind::put};
  const RecordFrame after(record);
  answer = send(*link, {piece(&frame, sizeof frame), piece(source, length),
                        piece(&after, adds ? 0 : after.size())});
  *signalled = is_posted(answer);
  return answer;
}

Post TcpEndpoint::get(uint32_t rank, void* target, uint64_t offset, std::size_t length) {
  Post answer;
  TcpLink* const link = ready(rank, &answer);
  if (link == nullptr) return answer;
  if (link->window.full()) return retry(Post::Reason::queue_full);
  TcpOperationPool& operations = connections_.operations();
  TcpOperation* const operation = operations.take();
  if (operation == nullptr) return retry(Post::Reason::queue_full);
  const Frame frame{.offset = offset,
                    .value = operations.number_of(*operation),
                    .length = static_cast<uint32_t>(length),
                    .kind = Kind::get};
  answer = send(*link, {piece(&frame, sizeof frame)});
  if (!is_posted(answer)) {
    operations.give_back(operation);
    return answer;
  }
  operation->link = link;
  operation->target = static_cast<std::byte*>(target);
  operation->length = length;
  operation->ticket = link->window.issue();
  return {.state = Post::State::pending, .ticket = operation->ticket};
}

// All of it, or nothing, or a part of which the rest is kept.
Post TcpEndpoint::send(TcpLink& link, const Pieces& pieces) {
  if (pieces[1].iov_len > kCopiedData && link.window.full()) return retry(Post::Reason::queue_full);
  const std::size_t length = pieces[0].iov_len + pieces[1].iov_len + pieces[2].iov_len;
  ssize_t sent = 0;
  do {
    sent = send_pieces(link.socket.get(), pieces.data(), pieces.size());
  } while (sent < 0 && errno == EINTR);
  if (sent == static_cast<ssize_t>(length)) [[likely]]
    return {};
  if (sent > 0) return keep(link, pieces, static_cast<std::size_t>(sent));
  return retry(is_for_later(link, errno) ? Post::Reason::queue_full : Post::Reason::connecting);
}

// The rest goes out before anything else. Few bytes are copied; more of the caller's are in use until then.
Post TcpEndpoint::keep(TcpLink& link, const Pieces& pieces, std::size_t sent) {
  Outgoing& out = link.out;
  out.clear();
  std::size_t copied = 0;
  bool in_use = false;
  for (const iovec& one : pieces) {
    const std::size_t gone = std::min(sent, one.iov_len);
    sent -= gone;
    const std::size_t rest = one.iov_len - gone;
    if (rest == 0) continue;
    auto* from = static_cast<std::byte*>(one.iov_base) + gone;
    if (rest <= kCopiedData) {
      from = std::copy_n(from, rest, out.copy.data() + copied) - rest;
      copied += rest;
    } else {
      in_use = true;
    }
    out.pieces[static_cast<std::size_t>(out.count++)] = {from, rest};
  }
  has_output_ = true;
  out.ticket = in_use ? link.window.issue() : 0;
  return {.state = in_use ? Post::State::pending : Post::State::done, .ticket = out.ticket};
}

// Whether what the socket refused for that reason may be tried again. If not the link sends nothing any more; what the other
// side has said last is still to be read, and then the socket's end.
bool TcpEndpoint::is_for_later(TcpLink& link, int error) {
  if (error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == ENOMEM || error == EINTR)
    return true;
  link.deaf = true;
  link.out.clear();
  link.owed.clear();
  if (error != EPIPE && error != ECONNRESET) ::shutdown(link.socket.get(), SHUT_RDWR);
  return false;
}

// --- What a socket had no room for ---------------------------------------------------------------------

// True: there is nothing left.
bool TcpEndpoint::flush(TcpLink& link) { return flush_frames(link) && flush_owed(link); }

bool TcpEndpoint::flush_frames(TcpLink& link) {
  Outgoing& out = link.out;
  while (!out.empty()) {
    const auto first = static_cast<std::size_t>(out.first);
    const ssize_t result =
        send_pieces(link.socket.get(), &out.pieces[first], static_cast<std::size_t>(out.count) - first);
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) {
      is_for_later(link, errno);
      return false;
    }
    for (auto sent = static_cast<std::size_t>(result); !out.empty();) {
      iovec& next = out.pieces[static_cast<std::size_t>(out.first)];
      const std::size_t gone = std::min(sent, next.iov_len);
      sent -= gone;
      next = {static_cast<std::byte*>(next.iov_base) + gone, next.iov_len - gone};
      if (next.iov_len != 0) break;
      ++out.first;
    }
    if (out.empty() && out.ticket != 0) link.window.complete(out.ticket);
  }
  return true;
}

// Several answers go in one call.
bool TcpEndpoint::flush_owed(TcpLink& link) {
  while (!link.owed.empty()) {
    std::array<Frame, kAtOnce> frames;
    std::array<iovec, 2 * kAtOnce> pieces;
    const std::size_t count = std::min<std::size_t>(link.owed.size(), kAtOnce);
    for (std::size_t i = 0; i < count; ++i) {
      const OwedData& owed = link.owed.at(static_cast<uint32_t>(i));
      frames[i] = {.value = owed.operation, .length = owed.length, .kind = Kind::data};
      pieces[2 * i] = piece(&frames[i], sizeof frames[i]);
      pieces[2 * i + 1] = piece(shared_.job->segment + owed.offset, owed.length);
    }
    const ssize_t result = send_pieces(link.socket.get(), pieces.data(), 2 * count);
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) {
      is_for_later(link, errno);
      return false;
    }
    auto sent = static_cast<std::size_t>(result);
    for (std::size_t i = 0; i < count && sent > 0; ++i) {
      const std::size_t whole = sizeof(Frame) + pieces[2 * i + 1].iov_len;
      link.owed.drop_first();
      if (sent < whole) {
        keep_owed(link, pieces[2 * i], pieces[2 * i + 1], sent);
        return false;
      }
      sent -= whole;
    }
  }
  return true;
}

// The segment's bytes are sent as they are then.
void TcpEndpoint::keep_owed(TcpLink& link, const iovec& frame, const iovec& data, std::size_t sent) {
  Outgoing& out = link.out;
  out.clear();
  out.ticket = 0;
  const std::size_t of_frame = std::min(sent, frame.iov_len);
  const std::size_t rest = frame.iov_len - of_frame;
  if (rest > 0) {
    std::copy_n(static_cast<const std::byte*>(frame.iov_base) + of_frame, rest, out.copy.data());
    out.pieces[static_cast<std::size_t>(out.count++)] = {out.copy.data(), rest};
  }
  const std::size_t of_data = sent - of_frame;
  out.pieces[static_cast<std::size_t>(out.count++)] = {static_cast<std::byte*>(data.iov_base) + of_data,
                                                       data.iov_len - of_data};
  has_output_ = true;
}

int TcpEndpoint::flush_all() {
  int done = 0;
  has_output_ = false;
  for (TcpLink* const link : connections_.up()) {
    if (!link->has_output() || link->deaf) continue;
    flush(*link) ? ++done : 0;
    has_output_ = has_output_ || link->has_output();
  }
  return done;
}

// --- State ---------------------------------------------------------------------------------------------

bool TcpEndpoint::arm() {
  if (buffered_ != nullptr || connections_.troubled()) return false;
  connections_.arm();
  armed_ = true;
  return true;
}

// For a rank of which loss() is not OMPL_OK.
std::string TcpEndpoint::reason(uint32_t rank) const {
  const TcpLink* const link = find_link(rank);
  const bool own = link != nullptr && link->failure != OMPL_OK;
  return own ? link->why : losses().why(rank);
}

std::string TcpEndpoint::describe() const {
  return fmt::format("{}, {} of {} operations outstanding", connections_.describe(),
                     connections_.operations().outstanding(), TcpOperationPool::kCount);
}

}  // namespace ompl::conduit::tcp
