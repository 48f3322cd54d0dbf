// SPDX-License-Identifier: BSD-3-Clause
// The rest of the endpoint: what comes in.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "conduit/tcp/endpoint.hpp"
#include "util/status.hpp"

namespace ompl::conduit::tcp {
namespace {

constexpr uint32_t kTurnsPerLook = 16;  // while nothing but links that are read anyway is expected

}  // namespace

int TcpEndpoint::progress(Sink& sink, int budget) {
  int taken = buffered_ != nullptr ? take_frames(sink, budget) : 0;
  if (has_output_) taken += flush_all();
  readable_.clear();
  if (armed_ || !connections_.is_direct() || connections_.is_busy() || turns_++ % kTurnsPerLook == 0) {
    armed_ = false;
    taken += connections_.look(&readable_);
    taken += connections_.advance();
  }
  return taken + read_all(sink, budget - taken);
}

int TcpEndpoint::read_all(Sink& sink, int budget) {
  int taken = 0;
  const std::vector<TcpLink*>& links = connections_.is_direct() ? connections_.up() : readable_;
  for (std::size_t i = 0; i < links.size() && taken < budget && buffered_ == nullptr;) {
    TcpLink* const link = links[i];
    if (link->up) taken += read(*link, sink, budget - taken);
    if (i < links.size() && links[i] == link) ++i;  // else it has left the list
  }
  return taken;
}

// One call of the system: first what is missing of the data that are coming, to their place, then what follows them.
int TcpEndpoint::read(TcpLink& link, Sink& sink, int budget) {
  TcpIncoming& in = link.in;
  std::copy_n(in.head.data(), in.have, buffer_.get());
  const bool direct = in.left > 0;
  std::array<iovec, 2> pieces{iovec{in.to, in.left}, iovec{buffer_.get() + in.have, kRead}};
  ssize_t result = 0;
  do {
    if (direct) {
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = pieces.size();
      result = ::recvmsg(link.socket.get(), &message, MSG_DONTWAIT);
    } else {
      result = ::recv(link.socket.get(), pieces[1].iov_base, kRead, MSG_DONTWAIT);
    }
  } while (result < 0 && errno == EINTR);
  if (result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOMEM || errno == ENOBUFS))
    return 0;
  if (result <= 0) {
    const int error = errno;
    if (result == 0) {
      connections_.lost(link, "closed by the other side");
    } else {
      connections_.lost(link, in_words([error] { return error_text(error); }));
    }
    return 1;
  }
  ++link.heard;
  if (link.departed) return 1;
  const auto got = static_cast<std::size_t>(result);
  const std::size_t placed = std::min(got, in.left);
  in.to += placed;
  in.left -= placed;
  if (direct && in.left == 0) end_data(link, sink);
  begin_ = 0;
  end_ = in.have + got - placed;
  in.have = 0;
  if (end_ == 0) return 1;
  buffered_ = &link;
  return std::max(1, take_frames(sink, budget));
}

// Of the buffer: as many as that, or all that are whole.
int TcpEndpoint::take_frames(Sink& sink, int budget) {
  TcpLink& link = *buffered_;
  int taken = 0;
  while (link.up && !link.departed && begin_ < end_) {
    const std::byte* const from = buffer_.get() + begin_;
    const std::size_t have = end_ - begin_;
    if (link.in.left > 0) {
      begin_ += take_data(link, sink, from, have);
      continue;
    }
    if (taken >= budget) return taken;
    Frame frame;
    RecordRest rest;
    if (have >= sizeof frame) std::memcpy(&frame, from, sizeof frame);
    const bool is_long = frame.kind == Kind::long_record;
    const std::size_t head = is_long ? kMaxHead : sizeof frame;
    if (have < head) {
      std::copy_n(from, have, link.in.head.data());
      link.in.have = have;
      break;
    }
    if (is_long) std::memcpy(&rest, from + sizeof frame, sizeof rest);
    begin_ += head;
    ++taken;
    if (!begin(link, sink, frame, rest)) connections_.lost(link, "it sent what no rank sends");
  }
  buffered_ = nullptr;
  return taken;
}

std::size_t TcpEndpoint::take_data(TcpLink& link, Sink& sink, const std::byte* from,
                                   std::size_t length) {
  TcpIncoming& in = link.in;
  const std::size_t placed = std::min(length, in.left);
  std::memcpy(in.to, from, placed);
  in.to += placed;
  in.left -= placed;
  if (in.left == 0) end_data(link, sink);
  return placed;
}

// False: it is none of ours. These are bytes of a rank that has proven to be of the job; what they say is checked all the same.
bool TcpEndpoint::begin(TcpLink& link, Sink& sink, const Frame& frame, const RecordRest& rest) {
  switch (frame.kind) {
    case Kind::put:
    case Kind::put_add:
    case Kind::data:
      return begin_data(link, sink, frame);
    case Kind::record:
    case Kind::long_record:
      if (frame.op > static_cast<uint8_t>(SignalOp::news) ||
          frame.function > static_cast<uint8_t>(kLastFunction))
        return false;
      sink.signal(link.rank, to_signal(frame, rest));
      return true;
    case Kind::get:
      if (!is_in_segment(frame.offset, frame.length) || link.owed.full()) return false;
      if (link.deaf) return true;
      link.owed.add({.offset = frame.offset, .operation = frame.value, .length = frame.length});
      has_output_ = true;
      return true;
    case Kind::goodbye:
      connections_.said_goodbye(link);
      return true;
  }
  return false;
}

bool TcpEndpoint::begin_data(TcpLink& link, Sink& sink, const Frame& frame) {
  TcpIncoming& in = link.in;
  if (frame.kind == Kind::data) {
    in.operation = connections_.operations().find(frame.value, link);
    if (in.operation == nullptr || in.operation->length != frame.length) return false;
    in.to = in.operation->target;
  } else {
    if (!is_in_segment(frame.offset, frame.length)) return false;
    in.to = shared_.job->segment + frame.offset;
  }
  in.frame = frame;
  in.left = frame.length;
  if (in.left == 0) end_data(link, sink);
  return true;
}

void TcpEndpoint::end_data(TcpLink& link, Sink& sink) {
  const TcpIncoming& in = link.in;
  if (in.frame.kind == Kind::put_add) {
    sink.signal(link.rank, {.offset = in.frame.value});
  } else if (in.frame.kind == Kind::data) {
    link.window.complete(in.operation->ticket);
    connections_.operations().give_back(in.operation);
  }
}

}  // namespace ompl::conduit::tcp
