// SPDX-License-Identifier: BSD-3-Clause
// Network operations that do not wait, and the handles that stand for them. Nothing is allocated for an operation:
// a handle holds slot, rank and number, and whoever progresses the slot publishes how far it has come [13].
#include <algorithm>

#include "core/network/post.hpp"

namespace ompl {

using conduit::Post;

namespace {

static_assert(1 + static_cast<int>(Post::Reason::queue_full) == OMPL_RETRY_FULL);
static_assert(1 + static_cast<int>(Post::Reason::no_memory) == OMPL_RETRY_MEMORY);
static_assert(1 + static_cast<int>(Post::Reason::connecting) == OMPL_RETRY_CONNECTING);
static_assert(1 + static_cast<int>(Post::Reason::busy) == OMPL_RETRY_BUSY);

// What a nonblocking function returns for a post.
int code_of(const Post& result) {
  switch (result.state) {
    case Post::State::done:
      return OMPL_OK;
    case Post::State::pending:
      return OMPL_PENDING;
    case Post::State::retry:
      return 1 + static_cast<int>(result.reason);
    case Post::State::failed:
      break;
  }
  return result.code;
}

// What a handle is to know of the channel's last data operation.
void fill(Handle* handle, Pending::Kind kind, const PeerChannel& channel) {
  if (handle == nullptr) return;
  *handle = {};
  handle->kind = kind;
  handle->rank = channel.rank();
  handle->slot = channel.slot();
  handle->ticket = channel.ticket();
  handle->number = channel.number();
}

}  // namespace

// The first message of a piece, tried once by `attempt`; if it went out the rest follows, whatever the time.
template <class Attempt>
int Sender::post_once_then_rest(Context& c, PeerChannel& channel, Call call, const Piece& piece,
                                Attempt attempt, bool* pending) {
  const std::size_t first = std::min(piece.length, capabilities_.max_message);
  const Piece message{piece.local, piece.offset, first};
  const int code = code_of(post_once(
      c, channel, [&](Context& by, PeerChannel& to) { return claim_for(by, to); },
      [&](Context&, PeerChannel&, Slot& slot) { return attempt(slot, message); }));
  *pending = code == OMPL_PENDING;
  if (code != OMPL_OK && code != OMPL_PENDING) return code;
  const Piece rest{piece.local + first, piece.offset + first, piece.length - first};
  Caller caller(c);
  const int after = post_piece(caller, channel.rank(), call, rest, Deadline::never(), pending, true);
  return after == OMPL_OK ? after : give_up(caller, channel.rank(), call, *pending, after);
}

// A signal that goes out by itself, as soon as it may.
void Sender::defer(Context& c, PeerChannel& channel, Slot& slot, const Signal& record,
                   EndpointPool::Deferral& place) {
  place.fill(record, capabilities_.ordered_signals ? 0 : channel.ticket());
  note_signal(c, channel, slot);
}

// A message that a record follows: with it where one request carries both; else the record is deferred, never waited for,
// unless there is more data, `whole` being false.
Post Sender::post_and_defer(Context& c, PeerChannel& channel, Slot& slot, const Piece& message,
                            const Signal& record, bool whole) {
  if (!pool_.may_defer(slot, channel.rank())) return EndpointPool::kNoCredit;
  const bool together = whole && capabilities_.ordered_signals;
  if (!together) {
    if (const Post may = may_signal(channel); may.state != Post::State::done) return may;
  }
  EndpointPool::Deferral place(pool_, slot, channel.rank());
  bool signalled = false;
  const Post result = together ? post_put_signal(c, channel, slot, message, record, &signalled)
                               : post_data(c, channel, slot, Call::put, message);
  const bool posted = result.state == Post::State::done || result.state == Post::State::pending;
  if (whole && posted && !signalled) defer(c, channel, slot, record, place);
  return result;
}

int Sender::put_nb(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                   const Signal* record, bool local, Handle* handle) {
  PeerChannel& to = channel(c, rank);
  const Piece piece{static_cast<std::byte*>(const_cast<void*>(source)), offset, length};
  const bool whole = length <= capabilities_.max_message;
  const auto attempt = [&](Slot& slot, const Piece& message) {
    return record != nullptr ? post_and_defer(c, to, slot, message, *record, whole)
                             : post_data(c, to, slot, Call::put, message);
  };
  bool pending = false;
  int code = post_once_then_rest(c, to, Call::put, piece, attempt, &pending);
  if (code == OMPL_OK && record != nullptr && !whole)
    code = signal(c, rank, *record, Deadline::never());
  if (code != OMPL_OK) {
    Caller caller(c);
    return give_up(caller, rank, Call::put, pending, code);
  }
  if (!pending && (local || handle == nullptr)) return OMPL_OK;  // the source may be reused
  fill(handle, local ? Pending::Kind::local : Pending::Kind::remote, to);
  return OMPL_PENDING;
}

int Sender::get_nb(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
                   Handle* handle) {
  PeerChannel& to = channel(c, rank);
  const Piece piece{static_cast<std::byte*>(target), offset, length};
  const auto attempt = [&](Slot& slot, const Piece& message) {
    return post_data(c, to, slot, Call::get, message);
  };
  bool pending = false;
  const int code = post_once_then_rest(c, to, Call::get, piece, attempt, &pending);
  if (code != OMPL_OK || !pending) return code;
  fill(handle, Pending::Kind::local, to);
  return OMPL_PENDING;
}

// All pieces of a context are on one slot, so the last one's number covers them.
int Sender::transfer_nb(Context& c, Call call, uint32_t rank, const Pieces& next, const Signal* record,
                        bool local, Handle* handle) {
  PeerChannel& to = channel(c, rank);
  bool pending = false;
  Piece piece;
  if (!next(&piece)) return OMPL_OK;
  if (record != nullptr && call == Call::put) {
    if (const Post may = may_signal(to); may.state != Post::State::done) return code_of(may);
  }
  const auto attempt = [&](Slot& slot, const Piece& message) {
    return post_data(c, to, slot, call, message);
  };
  int code = post_once_then_rest(c, to, call, piece, attempt, &pending);
  if (code != OMPL_OK) return code;
  Caller caller(c);
  while (code == OMPL_OK && next(&piece))
    code = post_piece(caller, rank, call, piece, Deadline::never(), &pending, true);
  if (code == OMPL_OK && record != nullptr)
    code = signal(caller.now(), rank, *record, Deadline::never());
  if (code != OMPL_OK) return give_up(caller, rank, call, pending, code);
  if (!pending && (call == Call::get || local || handle == nullptr)) return OMPL_OK;
  fill(handle, call == Call::get || local ? Pending::Kind::local : Pending::Kind::remote, to);
  return OMPL_PENDING;
}

int Sender::signal_nb(Context& c, PeerChannel& channel, const Signal& record, uint32_t* slot_used) {
  return code_of(post_once(
      c, channel, [&](Context& by, PeerChannel& to) { return claim_for(by, to); },
      [&](Context&, PeerChannel&, Slot& slot) -> Post {
        *slot_used = slot.index;
        const bool must_wait = !capabilities_.ordered_signals && channel.has_data() &&
                               slot.endpoint->completed(channel.rank()) < channel.ticket();
        if (!must_wait) return post_signal(c, channel, slot, record);
        if (const Post may = may_signal(channel); may.state != Post::State::done) return may;
        if (!pool_.may_defer(slot, channel.rank())) return EndpointPool::kNoCredit;
        EndpointPool::Deferral place(pool_, slot, channel.rank());
        defer(c, channel, slot, record, place);
        return {};
      },
      Held::joined));
}

int Sender::signal_nb(Context& c, uint32_t rank, const Signal& record) {
  uint32_t ignored = 0;
  return signal_nb(c, channel(c, rank), record, &ignored);
}

int Sender::fetch_nb(Context& c, uint32_t rank, const Signal& record, Handle* handle) {
  Signal asking = record;
  asking.token = pool_.fetches().take(rank);
  if (asking.token == 0) return OMPL_RETRY_FULL;
  const int code = signal_nb(c, channel(c, rank), asking, &handle->slot);
  if (code != OMPL_OK) {
    pool_.fetches().abandon(asking.token);
    return code;
  }
  handle->kind = Pending::Kind::fetch;
  handle->rank = rank;
  handle->ticket = asking.token;
  return OMPL_PENDING;
}

}  // namespace ompl
