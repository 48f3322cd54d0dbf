// SPDX-License-Identifier: BSD-3-Clause
// Network operations as a context sees them. The slots themselves: pool.cpp.
#include "core/network/network.hpp"

#include <algorithm>

#include "core/job/runtime.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl {

using conduit::Post;

Outstanding& Network::outstanding(Context& c, uint32_t rank) {
  if (c.outstanding.empty()) c.outstanding.resize(runtime_.size());
  Outstanding& mine = c.outstanding[rank];
  if (!mine.listed) {
    mine.listed = true;
    c.touched.push_back(rank);
  }
  return mine;
}

// A context with data of unknown fate at a rank stays on their slot, so that a signal follows them [14].
Slot* Network::claim_for(Context& c, uint32_t rank) {
  if (!c.outstanding.empty() && c.outstanding[rank].data) {
    Outstanding& mine = c.outstanding[rank];
    Slot& slot = slots_[mine.slot];
    if (try_claim(slot)) return &slot;
    ++c.statistics.failed_claims;
    slot.wanted.store(true, std::memory_order_relaxed);
    if (!capabilities_.remote_completion || completion_status(mine.slot, rank, mine.ticket) <= 0)
      return nullptr;
    mine.data = false;
  }
  for (uint32_t i = 0; i < slots(); ++i) {
    Slot& slot = slots_[(c.preferred_slot + i) % slots()];
    if (!try_claim(slot)) {
      ++c.statistics.failed_claims;
      slot.wanted.store(true, std::memory_order_relaxed);
      continue;
    }
    c.preferred_slot = slot.index;
    return &slot;
  }
  return nullptr;
}

// Nearly every post is taken at once.
template <class Claim, class Attempt>
int Network::post(Context& c, const Blocked& what, Deadline deadline, Claim claim, Attempt attempt,
                  Held held) {
  Post result = post_once(c, what.peer, claim, attempt, held);
  if (result.state != Post::State::retry)
    return result.state == Post::State::failed ? said(what.peer, result.code) : OMPL_OK;
  Blocker blocker(runtime_, c, what, deadline);
  return blocker.run([&]() -> int {
    result = post_once(c, what.peer, claim, attempt, held);
    if (result.reason == Post::Reason::busy) blocker.stay_awake();
    if (result.state == Post::State::retry) return 0;
    return result.state == Post::State::failed ? said(what.peer, result.code) : 1;
  });
}

// Remembers a posted data operation: in the context, so that signals follow it, and for quiet_all().
void Network::note_data(Context& c, Slot& slot, uint32_t rank, const Post& result) {
  if (result.state != Post::State::done && result.state != Post::State::pending) return;
  SlotPeer& shared = slot_peer(slot, rank);
  shared.used.store(true, std::memory_order_relaxed);
  Outstanding& mine = outstanding(c, rank);
  shared.last_ticket.store(std::max(shared.last_ticket.load(), result.ticket));
  mine.ticket = mine.data ? std::max(mine.ticket, result.ticket) : result.ticket;
  mine.number = ++shared.sent;
  mine.slot = slot.index;
  mine.data = true;
  ++mine.posts;
  cache_route(c, slot, rank, mine);
}

// The acknowledgement has to come through the slot that the signal went through.
void Network::note_signal(Context& c, Slot& slot, uint32_t rank) {
  Outstanding& mine = outstanding(c, rank);
  ++slot_peer(slot, rank).sent;
  mine.signalled_slots |= uint64_t{1} << slot.index;
  ++mine.posts;
  cache_route(c, slot, rank, mine);
}

// Of a context that had nothing outstanding, or no data, on its route.
void Network::note_first(Context& c, bool data) {
  Outstanding& mine = outstanding(c, static_cast<uint32_t>(c.route.rank));
  if (!data) return;
  mine.slot = c.route.slot->index;
  mine.data = true;
}

void Network::cache_route(Context& c, Slot& slot, uint32_t rank, Outstanding& mine) {
  constexpr std::size_t kImmediate = std::size_t{1} << 34;  // flags below it fit one [6]
  if (hold_limit_ == 0 || mine.lost != OMPL_OK || !c.orphans.empty() ||
      runtime_.segment_.capacity() > kImmediate)
    return;
  c.route = {.rank = rank,
             .limit = hold_limit_,
             .network = this,
             .slot = &slot,
             .slot_bit = uint64_t{1} << slot.index,
             .peer = &slot_peer(slot, rank),
             .mine = &mine,
             .sentinel = sentinel_};
}

Post Network::post_data(Context& c, Slot& slot, Call call, uint32_t rank, const Piece& piece) {
  const Post result = call == Call::get
                          ? slot.endpoint->get(rank, piece.local, piece.offset, piece.length)
                          : slot.endpoint->put(rank, piece.local, piece.offset, piece.length);
  note_data(c, slot, rank, result);
  return result;
}

// Whether a signal to `rank` may go out: done if all that the context put before it is there or ahead of it.
Post Network::may_signal(Context& c, uint32_t rank) {
  if (!c.outstanding.empty() && c.outstanding[rank].lost != OMPL_OK)
    return {.state = Post::State::failed, .code = c.outstanding[rank].lost};
  return look_at_strays(c, rank);
}

Post Network::post_signal(Context& c, Slot& slot, uint32_t rank, const Signal& record) {
  if (const Post may = may_signal(c, rank); may.state != Post::State::done) return may;
  if (c.held.any()) return send_held_on(c, slot, &record);
  const Post result = send_record(slot, rank, record);
  if (result.state == Post::State::done) note_signal(c, slot, rank);
  return result;
}

// *signalled: whether the record went out too.
Post Network::post_put_signal(Context& c, Slot& slot, uint32_t rank, const Piece& piece,
                              const Signal& record, bool* signalled) {
  if (const Post may = may_signal(c, rank); may.state != Post::State::done) return may;
  if (!take_credit(slot, rank)) return kNoCredit;
  const Post result =
      slot.endpoint->put_signal(rank, piece.local, piece.offset, piece.length, record, signalled);
  note_data(c, slot, rank, result);
  if (*signalled) {
    note_signal(c, slot, rank);
  } else {
    give_credit(slot, rank);
  }
  return result;
}

// In messages as long as the conduit carries; the first within the deadline.
int Network::post_piece(Context& c, Call call, uint32_t rank, const Piece& piece, Deadline deadline,
                        bool* pending) {
  const Blocked what{
      .call = call, .peer = rank, .offset = piece.offset, .bucket = &runtime_.segment_.header().any};
  for (std::size_t moved = 0; moved < piece.length;) {
    const Piece message{.local = piece.local + moved,
                        .offset = piece.offset + moved,
                        .length = std::min(piece.length - moved, capabilities_.max_message)};
    const int code = post(
        c, what, moved == 0 ? deadline : Deadline::never(), [&] { return claim_for(c, rank); },
        [&](Slot& slot) {
          const Post result = post_data(c, slot, call, rank, message);
          *pending = *pending || result.state == Post::State::pending;
          return result;
        });
    if (code != OMPL_OK) return code;
    moved += message.length;
  }
  return OMPL_OK;
}

int Network::transfer(Context& c, Call call, uint32_t rank, const Pieces& next, Deadline deadline) {
  bool pending = false;
  Deadline limit = deadline;
  for (Piece piece; next(&piece); limit = Deadline::never()) {
    const int code = post_piece(c, call, rank, piece, limit, &pending);
    if (code != OMPL_OK) return code;
  }
  return pending ? await_source(c, rank, call, deadline) : OMPL_OK;
}

// Until the buffer of what was just posted may be reused, or the time is up.
int Network::await_source(Context& c, uint32_t rank, Call call, Deadline deadline) {
  const Outstanding& mine = c.outstanding[rank];
  const int code = await_data(c, rank, mine.slot, mine.ticket, call, deadline);
  return code == OMPL_ERR_TIMEOUT ? OMPL_PENDING : code;
}

int Network::move(Context& c, Call call, uint32_t rank, const Piece& piece, Deadline deadline) {
  bool pending = false;
  const int code = post_piece(c, call, rank, piece, deadline, &pending);
  return code == OMPL_OK && pending ? await_source(c, rank, call, deadline) : code;
}

int Network::put(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                 Deadline deadline) {
  if (length <= hold_limit_) return hold(c, source, rank, offset, length, deadline);
  auto* local = static_cast<std::byte*>(const_cast<void*>(source));  // only read: Call::put
  const Piece piece{local, offset, length};
  return is_long(length, deadline) ? put_long(c, rank, piece)
                                   : move(c, Call::put, rank, piece, deadline);
}

int Network::get(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
                 Deadline deadline) {
  return move(c, Call::get, rank, {static_cast<std::byte*>(target), offset, length}, deadline);
}

// Where signals do not follow data by themselves: until the data are there.
int Network::await_order(Context& c, uint32_t rank, Deadline deadline) {
  Outstanding& mine = outstanding(c, rank);
  if (!mine.data || capabilities_.ordered_signals) return OMPL_OK;
  const uint64_t before = mine.posts;
  const int code = await_data(c, rank, mine.slot, mine.ticket, Call::put_word, deadline);
  if (code == OMPL_OK && mine.posts == before) mine.data = false;
  return code;
}

int Network::signal(Context& c, uint32_t rank, const Signal& record, Deadline deadline) {
  if (const int code = await_order(c, rank, deadline); code != OMPL_OK) return code;
  const Blocked what{.call = Call::put_word,
                     .peer = rank,
                     .offset = record.offset,
                     .bucket = &runtime_.segment_.header().any};
  return post(
      c, what, deadline, [&] { return claim_for(c, rank); },
      [&](Slot& slot) { return post_signal(c, slot, rank, record); }, Held::joined);
}

int Network::put_signal(Context& c, const void* source, uint32_t rank, uint64_t offset,
                        std::size_t length, const Signal& record, Deadline deadline) {
  bool signalled = false;
  int code = OMPL_OK;
  if (capabilities_.ordered_signals && length <= capabilities_.max_message &&
      !is_long(length, deadline)) {
    const Piece piece{static_cast<std::byte*>(const_cast<void*>(source)), offset, length};
    const Blocked what{.call = Call::put_signal,
                       .peer = rank,
                       .offset = offset,
                       .bucket = &runtime_.segment_.header().any};
    bool pending = false;
    code = post(
        c, what, deadline, [&] { return claim_for(c, rank); },
        [&](Slot& slot) {
          const Post result = post_put_signal(c, slot, rank, piece, record, &signalled);
          pending = result.state == Post::State::pending;
          return result;
        });
    if (code != OMPL_OK) return code;
    if (pending) code = await_source(c, rank, what.call, deadline);
  } else {
    code = put(c, source, rank, offset, length, deadline);
  }
  if (signalled || (code != OMPL_OK && code != OMPL_PENDING)) return code;
  // The data are under way: the signal must follow them, whatever the time.
  const int sent = signal(c, rank, record, Deadline::never());
  return sent != OMPL_OK ? sent : code;
}

// The request goes out within the deadline; its reply is then awaited whatever the time.
int Network::fetch(Context& c, uint32_t rank, Signal record, uint64_t* before, Deadline deadline) {
  if (const int code = await_order(c, rank, deadline); code != OMPL_OK) return code;
  const Blocked what{.call = Call::atomic,
                     .peer = rank,
                     .offset = record.offset,
                     .bucket = &runtime_.segment_.header().any};
  const Slot* asked = nullptr;
  int code = post(
      c, what, deadline, [&] { return claim_for(c, rank); },
      [&](Slot& slot) {
        if (record.token == 0) record.token = fetches_.take(rank);
        if (record.token == 0) return kNoCredit;
        asked = &slot;
        return post_signal(c, slot, rank, record);
      },
      Held::joined);
  if (code == OMPL_OK) {
    code = Blocker(runtime_, c, what, Deadline::never()).run([&]() -> int {
      const int answered = answer_of(record.token, before);
      return answered != 0 ? answered : fate(*asked, rank);
    });
    if (code == OMPL_OK || code == OMPL_ERR_OFFSET) return code;
  }
  if (record.token != 0) fetches_.abandon(record.token);
  return code;
}

// 1: it came; 0; or the error that it is.
int Network::answer_of(uint64_t token, uint64_t* before) {
  switch (fetches_.look(token, before)) {
    case Fetches::Answer::none:
      return 0;
    case Fetches::Answer::value:
      return 1;
    case Fetches::Answer::refused:
      break;
  }
  return fail(OMPL_ERR_OFFSET, "an atomic was refused by its target: the word is not allocated there");
}

int Network::flush(Context& c, Deadline deadline) { return complete(c, Call::flush, false, deadline); }

int Network::quiet(Context& c, Deadline deadline) { return complete(c, Call::quiet, true, deadline); }

// Whether a slot's data operations to `rank` up to `ticket` are complete as the conduit means it: 1, 0, or the error
// that they ended in. After a failure all count as complete, so it is looked for last.
int Network::completion_status(uint32_t slot, uint32_t rank, uint64_t ticket) const {
  const conduit::Endpoint& endpoint = *slots_[slot].endpoint;
  if (endpoint.completed(rank) < ticket) return 0;
  const int broken = failure_of(endpoint, rank);
  return broken == OMPL_OK ? 1 : broken;
}

// Until it has landed. Its buffer is in use until then, or until its own connection fails, whatever others do.
int Network::await_data(Context& c, uint32_t rank, uint32_t slot, uint64_t ticket, Call call,
                        Deadline deadline) {
  const Blocked what{
      .call = call, .peer = rank, .bucket = &runtime_.segment_.header().any, .own_end = true};
  return Blocker(runtime_, c, what, deadline).run([&] {
    return completion_status(slot, rank, ticket);
  });
}

// Posts an ack_request for all that went out on the slot before, deferred signals included; unless the last one covers
// it: who tries again and again within short time limits must not fill the queue with questions.
Post Network::ask(Slot& slot, uint32_t rank) {
  if (!send_deferred(slot, rank)) return kNoCredit;
  SlotPeer& shared = slot_peer(slot, rank);
  if (shared.asked != 0 && shared.covered == shared.sent) return {};
  const Post result = send_record(
      slot, rank, {.offset = slot.index, .value = shared.asked + 1, .op = SignalOp::ack_request});
  if (result.state == Post::State::done) {
    ++shared.asked;
    shared.covered = shared.sent;
  }
  return result;
}

// Posts an ack_request on every slot of the set and notes its number.
int Network::ask_slots(Context& c, uint32_t rank, uint64_t slots, std::vector<Mark>* marks, Call call,
                       Deadline deadline) {
  const Blocked what{.call = call, .peer = rank, .bucket = &runtime_.segment_.header().any};
  for (uint32_t i = 0; i < this->slots(); ++i) {
    if ((slots >> i & 1) == 0) continue;
    Slot& wanted = slots_[i];
    const int code = post(
        c, what, deadline, [&] { return try_claim(wanted) ? &wanted : nullptr; },
        [&](Slot& slot) {
          const Post result = ask(slot, rank);
          if (result.state == Post::State::done)
            marks->push_back({.rank = rank, .slot = slot.index, .number = slot_peer(slot, rank).asked});
          return result;
        });
    if (code != OMPL_OK) return code;
  }
  return OMPL_OK;
}

int Network::await_marks(Context& c, const std::vector<Mark>& marks, Call call, Deadline deadline) {
  int first_error = OMPL_OK;
  for (const Mark& mark : marks) {
    Slot& slot = slots_[mark.slot];
    const SlotPeer& shared = slot_peer(slot, mark.rank);
    const Blocked what{.call = call, .peer = mark.rank, .bucket = &runtime_.segment_.header().any};
    const int code = Blocker(runtime_, c, what, deadline).run([&]() -> int {
      if (shared.acknowledged.load(std::memory_order_seq_cst) >= mark.number) return 1;
      return fate(slot, mark.rank);
    });
    if (first_error == OMPL_OK) first_error = code;
  }
  return first_error;
}

// While it waits the yield hook may put, signal and complete on the same context: only what was outstanding
// at the beginning and is still the last of its rank is done with.
int Network::complete(Context& c, Call call, bool signals_too, Deadline deadline) {
  int first_error = OMPL_OK;
  bool timed_out = false;
  const auto note = [&](int code) {
    if (first_error == OMPL_OK) first_error = code;
    timed_out = timed_out || code == OMPL_ERR_TIMEOUT;
  };
  if (c.held.any()) note(post_held(c, call, deadline));
  if (timed_out) return first_error;
  struct Covered {
    uint32_t rank;
    uint64_t posts;
  };
  std::vector<Covered> covered;
  covered.reserve(c.touched.size());
  for (const uint32_t rank : c.touched) covered.push_back({rank, c.outstanding[rank].posts});

  std::vector<Mark> marks;
  for (const Covered& now : covered) {
    const Outstanding& mine = c.outstanding[now.rank];
    note(mine.lost);
    uint64_t slots = signals_too ? mine.signalled_slots : 0;
    if (mine.data) {
      const uint32_t slot = mine.slot;
      note(await_data(c, now.rank, slot, mine.ticket, call, deadline));
      if (!capabilities_.remote_completion) slots |= uint64_t{1} << slot;
    }
    note(ask_slots(c, now.rank, slots, &marks, call, deadline));
  }
  note(await_strays(c, call, deadline));
  note(await_marks(c, marks, call, deadline));
  if (timed_out) return first_error;  // nothing is forgotten: flush again

  for (const Covered& now : covered) {  // done, or told: an error is told once [18]
    Outstanding& mine = c.outstanding[now.rank];
    if (mine.posts != now.posts) continue;
    mine.data = false;
    mine.lost = OMPL_OK;
    if (signals_too) mine.signalled_slots = 0;
    mine.listed = mine.signalled_slots != 0;
  }
  std::erase_if(c.touched, [&c](uint32_t rank) { return !c.outstanding[rank].listed; });
  return first_error;
}

int Network::quiet_all(Context& c) {
  int first_error = OMPL_OK;
  const auto note = [&first_error](int code) {
    if (first_error == OMPL_OK) first_error = code;
  };
  int code = OMPL_OK;
  const std::vector<Taken> taken = take_all_held(c, &code);
  note(code);
  std::vector<Mark> marks;
  for (Slot& slot : slots_) {
    for (uint32_t rank = 0; rank < runtime_.size(); ++rank) {
      const SlotPeer* shared = slot.peers[rank].load(std::memory_order_acquire);
      if (shared == nullptr || !shared->used.load() || slot.endpoint->failure(rank) != OMPL_OK)
        continue;
      note(await_data(c, rank, slot.index, shared->last_ticket.load(), Call::quiet, Deadline::never()));
      note(ask_slots(c, rank, uint64_t{1} << slot.index, &marks, Call::quiet, Deadline::never()));
    }
  }
  note(await_marks(c, marks, Call::quiet, Deadline::never()));
  for (const auto& [held, slot] : taken) {
    const int lost = slots_[slot].endpoint->failure(held->rank);
    lost == OMPL_OK ? held->forget() : held->lose(lost);
  }
  return first_error;
}

}  // namespace ompl
