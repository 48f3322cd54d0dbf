// SPDX-License-Identifier: BSD-3-Clause
// Network operations that do not wait, and the handles that stand for them. Nothing is allocated for an operation:
// a handle holds slot, rank and number, and whoever progresses the slot publishes how far it has come [13].
#include <algorithm>
#include <cstring>

#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

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

}  // namespace

void Network::fill(Handle* handle, Pending::Kind kind, uint32_t rank, const Outstanding& mine) {
  if (handle == nullptr) return;
  *handle = {};
  handle->kind = kind;
  handle->rank = rank;
  handle->slot = mine.slot;
  handle->ticket = mine.ticket;
  handle->number = mine.number;
}

bool Network::may_defer(Slot& slot, uint32_t rank) {
  return slot_peer(slot, rank).deferred.size() < runtime_.settings().credits;
}

void Network::defer(Context& c, Slot& slot, uint32_t rank, const Signal& record) {
  SlotPeer& to = slot_peer(slot, rank);
  to.used.store(true);
  to.deferred.push_back({record, capabilities_.ordered_signals ? 0 : outstanding(c, rank).ticket});
  note_signal(c, slot, rank);
  note_pending_reply(slot, rank);
}

template <class Attempt>
int Network::post_once_then_rest(Context& c, Call call, uint32_t rank, const Piece& piece,
                                 Attempt attempt, bool* pending) {
  const std::size_t first = std::min(piece.length, capabilities_.max_message);
  const Piece message{piece.local, piece.offset, first};
  const int code = code_of(post_once(
      c, rank, [&] { return claim_for(c, rank); }, [&](Slot& slot) { return attempt(slot, message); }));
  *pending = code == OMPL_PENDING;
  if (code != OMPL_OK && code != OMPL_PENDING) return code;
  const Piece rest{piece.local + first, piece.offset + first, piece.length - first};
  return post_piece(c, call, rank, rest, Deadline::never(), pending);
}

// The record goes with the data where one request carries both; else it is deferred, never waited for.
int Network::put_nb(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                    const Signal* record, bool local, Handle* handle) {
  const Piece piece{static_cast<std::byte*>(const_cast<void*>(source)), offset, length};
  const bool whole = length <= capabilities_.max_message;
  const bool together = record != nullptr && whole && capabilities_.ordered_signals;
  const auto attempt = [&](Slot& slot, const Piece& message) -> Post {
    if (record != nullptr && !may_defer(slot, rank)) return kNoCredit;
    if (record != nullptr && !together) {
      const Post may = may_signal(c, rank);
      if (may.state != Post::State::done) return may;
    }
    bool signalled = false;
    const Post result = together ? post_put_signal(c, slot, rank, message, *record, &signalled)
                                 : post_data(c, slot, Call::put, rank, message);
    const bool posted = result.state == Post::State::done || result.state == Post::State::pending;
    if (record != nullptr && whole && posted && !signalled) defer(c, slot, rank, *record);
    return result;
  };
  bool pending = false;
  int code = post_once_then_rest(c, Call::put, rank, piece, attempt, &pending);
  if (code == OMPL_OK && record != nullptr && !whole)
    code = signal(c, rank, *record, Deadline::never());
  if (code != OMPL_OK) return code;
  if (!pending && (local || handle == nullptr)) return OMPL_OK;  // the source may be reused
  fill(handle, local ? Pending::Kind::local : Pending::Kind::remote, rank, c.outstanding[rank]);
  return OMPL_PENDING;
}

int Network::get_nb(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
                    Handle* handle) {
  const Piece piece{static_cast<std::byte*>(target), offset, length};
  const auto attempt = [&](Slot& slot, const Piece& message) {
    return post_data(c, slot, Call::get, rank, message);
  };
  bool pending = false;
  const int code = post_once_then_rest(c, Call::get, rank, piece, attempt, &pending);
  if (code != OMPL_OK || !pending) return code;
  fill(handle, Pending::Kind::local, rank, c.outstanding[rank]);
  return OMPL_PENDING;
}

int Network::signal_nb(Context& c, uint32_t rank, const Signal& record, uint32_t* slot_used) {
  const Outstanding& mine = outstanding(c, rank);
  return code_of(post_once(
      c, rank, [&] { return claim_for(c, rank); },
      [&](Slot& slot) -> Post {
        if (slot_used != nullptr) *slot_used = slot.index;
        const bool must_wait =
            !capabilities_.ordered_signals && mine.data && slot.endpoint->completed(rank) < mine.ticket;
        if (!must_wait) return post_signal(c, slot, rank, record);
        if (const Post may = may_signal(c, rank); may.state != Post::State::done) return may;
        if (!may_defer(slot, rank)) return kNoCredit;
        defer(c, slot, rank, record);
        return {};
      },
      Held::joined));
}

int Network::fetch_nb(Context& c, uint32_t rank, Signal record, Handle* handle) {
  record.token = fetches_.take(rank);
  if (record.token == 0) return OMPL_RETRY_FULL;
  const int code = signal_nb(c, rank, record, &handle->slot);
  if (code != OMPL_OK) {
    fetches_.abandon(record.token);
    return code;
  }
  handle->kind = Pending::Kind::fetch;
  handle->rank = rank;
  handle->ticket = record.token;
  return OMPL_PENDING;
}

int Network::test(Context& c, Handle& handle) {
  Slot& slot = slots_[handle.slot];
  if (handle.kind == Pending::Kind::fetch) {
    uint64_t before = 0;
    int answered = answer_of(handle.ticket, &before);
    if (answered == 0) answered = fate(slot, handle.rank);
    if (answered == 1) std::memcpy(handle.before, &before, handle.width);
    if (answered < 0) fetches_.abandon(handle.ticket);
    return answered;
  }
  if (handle.kind == Pending::Kind::local || capabilities_.remote_completion) {
    if (const int state = completion_status(handle.slot, handle.rank, handle.ticket); state != 0)
      return state;
  } else if (slot.endpoint->completed(handle.rank) >= handle.ticket) {
    if (handle.mark == 0) ask_for(c, handle);
    if (handle.mark != 0 && slot_peer(slot, handle.rank).acknowledged.load() >= handle.mark) return 1;
  }
  return fate(slot, handle.rank);
}

void Network::forget(Handle& handle) {
  if (handle.kind == Pending::Kind::fetch) fetches_.abandon(handle.ticket);
  handle.kind = Pending::Kind::none;
}

// The target is asked once for all that was posted so far: one question serves many handles.
void Network::ask_for(Context& c, Handle& handle) {
  Slot& wanted = slots_[handle.slot];
  post_once(
      c, handle.rank, [&] { return try_claim(wanted) ? &wanted : nullptr; },
      [&](Slot& slot) -> Post {
        const SlotPeer& shared = slot_peer(slot, handle.rank);
        const bool covered = shared.covered >= handle.number;
        const Post result = covered ? Post{} : ask(slot, handle.rank);
        if (result.state == Post::State::done) handle.mark = shared.asked;
        return result;
      });
}

}  // namespace ompl
