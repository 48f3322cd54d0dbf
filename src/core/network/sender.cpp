// SPDX-License-Identifier: BSD-3-Clause
#include "core/network/sender.hpp"

#include <algorithm>

#include "core/network/post.hpp"
#include "util/status.hpp"

namespace ompl {

using conduit::Post;

namespace {
constexpr std::size_t kImmediateOffsets = std::size_t{1} << 34;  // flags below it fit an immediate [6]
}

Sender::Sender(EndpointPool& pool, std::size_t capacity, const ContextTable& contexts)
    : pool_(pool),
      contexts_(contexts),
      capabilities_(pool.capabilities()),
      fast_(capabilities_.immediate_puts && capacity <= kImmediateOffsets),
      hold_limit_(capabilities_.immediate_puts
                      ? std::min(capabilities_.max_fused_put, CoalescedPut::kShort)
                      : capabilities_.max_fused_put),
      long_put_(capabilities_.segment != 0 ? kPaced * capabilities_.segment : SIZE_MAX) {}

PeerChannel& Sender::find_channel(Context& c, uint32_t rank) {
  return c.channels.at(
      rank, [&] { return std::make_unique<PeerChannel>(&pool_, rank, fast_ ? hold_limit_ : 0); });
}

// A context with data of unknown fate at a rank stays on their slot, so that a signal follows them [14].
Slot* Sender::claim_for(Context& c, PeerChannel& channel) {
  if (channel.has_data()) {
    Slot& slot = pool_.slot(channel.slot());
    if (pool_.claim(c, slot)) return &slot;
    if (!capabilities_.remote_completion ||
        pool_.completion_status(slot.index, channel.rank(), channel.ticket()) <= 0)
      return nullptr;
    channel.data_done();
  }
  for (uint32_t i = 0; i < pool_.size(); ++i) {
    Slot& slot = pool_.slot(c.preferred_slot + i);
    if (!pool_.claim(c, slot)) continue;
    c.preferred_slot = slot.index;
    return &slot;
  }
  return nullptr;
}

// Whoever ends `direct` closes it then, perhaps at this moment.
void Sender::open_fast_path(Context& c, PeerChannel& channel) {
  if (c.fast.load(std::memory_order_relaxed) == &channel || !c.direct) return;
  c.fast = &channel;
  if (!c.direct) c.fast = &Context::nobody;
}

// Further posts follow there, by the fast paths if they may: not to a rank known to have failed, of which another slot may not know
// yet.
void Sender::go_to(Context& c, PeerChannel& channel, Slot& slot) {
  channel.go_to(slot, pool_.peer(slot, channel.rank()));
  c.channels.touch(channel);
  if (fast_ && channel.may_be_fast() && pool_.known_failure(channel.rank()) == OMPL_OK)
    open_fast_path(c, channel);
}

void Sender::note_data(Context& c, PeerChannel& channel, Slot& slot, const Post& result) {
  if (result.state != Post::State::done && result.state != Post::State::pending) return;
  go_to(c, channel, slot);
  pool_.peer(slot, channel.rank()).used.store(true, std::memory_order_relaxed);
  channel.note_data(result);
}

void Sender::note_signal(Context& c, PeerChannel& channel, Slot& slot) {
  go_to(c, channel, slot);
  channel.note_signal();
}

// The fast paths know nothing of it.
void Sender::note_packed(Context& c, uint32_t rank, const std::atomic<uint32_t>& read, uint32_t end) {
  PeerChannel& channel = this->channel(c, rank);
  channel.note_packed(read, end);
  c.channels.touch(channel);
  if (c.fast.load(std::memory_order_relaxed) == &channel) c.fast = &Context::nobody;
}

void Sender::note_packed_get(Context& c, uint32_t rank) {
  PeerChannel& channel = this->channel(c, rank);
  channel.note_packed_get();
  c.channels.touch(channel);
}

Post Sender::post_data(Context& c, PeerChannel& channel, Slot& slot, Call call, const Piece& piece) {
  conduit::Endpoint& endpoint = *slot.endpoint;
  const uint32_t rank = channel.rank();
  pool_.peer(slot, rank);  // so that what was posted can be noted without memory
  const Post result = call == Call::get ? endpoint.get(rank, piece.local, piece.offset, piece.length)
                                        : endpoint.put(rank, piece.local, piece.offset, piece.length);
  note_data(c, channel, slot, result);
  return result;
}

// Whether a signal may go out: done if all that the context put before it is there or ahead of it.
Post Sender::may_signal(PeerChannel& channel) {
  if (channel.lost() != OMPL_OK) return {.state = Post::State::failed, .code = channel.lost()};
  return look_at_orphans(channel);
}

Post Sender::post_signal(Context& c, PeerChannel& channel, Slot& slot, const Signal& record) {
  if (const Post may = may_signal(channel); may.state != Post::State::done) return may;
  if (channel.held.any()) return send_held_on(c, slot, &record);
  const Post result = pool_.send_record(slot, channel.rank(), record);
  if (result.state == Post::State::done) note_signal(c, channel, slot);
  return result;
}

// *signalled: whether the record went out too.
Post Sender::post_put_signal(Context& c, PeerChannel& channel, Slot& slot, const Piece& piece,
                             const Signal& record, bool* signalled) {
  if (const Post may = may_signal(channel); may.state != Post::State::done) return may;
  EndpointPool::Credit credit(pool_, slot, channel.rank());
  if (!credit.taken()) return EndpointPool::kNoCredit;
  const Post result = slot.endpoint->put_signal(channel.rank(), piece.local, piece.offset, piece.length,
                                                record, signalled);
  if (*signalled) credit.keep();
  note_data(c, channel, slot, result);
  if (*signalled) note_signal(c, channel, slot);
  return result;
}

// In messages as long as the conduit carries; the first within the deadline.
int Sender::post_piece(Caller& caller, uint32_t rank, Call call, const Piece& piece, Deadline deadline,
                       bool* pending, bool keeps_thread) {
  for (std::size_t moved = 0; moved < piece.length;) {
    const Blocked what{
        .call = call, .peer = rank, .offset = piece.offset, .keeps_thread = keeps_thread || moved != 0};
    const Piece message{.local = piece.local + moved,
                        .offset = piece.offset + moved,
                        .length = std::min(piece.length - moved, capabilities_.max_message)};
    Context& c = caller.now();
    const int code = post(
        c, channel(c, rank), what, moved == 0 ? deadline : Deadline::never(),
        [&](Context& now, PeerChannel& to) { return claim_for(now, to); },
        [&](Context& now, PeerChannel& to, Slot& slot) {
          const Post result = post_data(now, to, slot, call, message);
          *pending = *pending || result.state == Post::State::pending;
          return result;
        });
    if (code != OMPL_OK) return code;
    moved += message.length;
  }
  return OMPL_OK;
}

int Sender::transfer(Context& c, Call call, uint32_t rank, const Pieces& next, Deadline deadline,
                     bool signal_follows, bool begun) {
  Caller caller(c);
  bool pending = false;
  Deadline limit = deadline;
  for (Piece piece; next(&piece); limit = Deadline::never()) {
    const int code = post_piece(caller, rank, call, piece, limit, &pending, begun);
    if (code != OMPL_OK) return give_up(caller, rank, call, pending, code);
    begun = true;
  }
  if (!pending) return OMPL_OK;
  Context& now = caller.now();
  return await_source(now, channel(now, rank), call, deadline, signal_follows);
}

// Until the buffer of what was just posted may be reused, or the time is up.
int Sender::await_source(Context& c, PeerChannel& channel, Call call, Deadline deadline,
                         bool keeps_thread) {
  const int code =
      pool_.await(c, channel.rank(), channel.slot(), channel.ticket(), call, deadline, keeps_thread);
  return code == OMPL_ERR_TIMEOUT ? OMPL_PENDING : code;
}

// The rest of a transfer cannot be posted: the caller may have its memory back once nothing reads it any more.
int Sender::give_up(Caller& caller, uint32_t rank, Call call, bool pending, int code) {
  if (!pending) return code;
  Context& now = caller.now();
  await_source(now, channel(now, rank), call, Deadline::never());
  return code;
}

int Sender::move(Context& c, uint32_t rank, Call call, const Piece& piece, Deadline deadline,
                 bool keeps_thread) {
  Caller caller(c);
  bool pending = false;
  const int code = post_piece(caller, rank, call, piece, deadline, &pending, keeps_thread);
  if (code != OMPL_OK) return give_up(caller, rank, call, pending, code);
  if (!pending) return code;
  Context& now = caller.now();
  return await_source(now, channel(now, rank), call, deadline, keeps_thread);
}

int Sender::put(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                Deadline deadline, bool signal_follows) {
  Caller caller(c);
  PeerChannel& to = channel(c, rank);
  to.saw_put();
  if (length <= hold_limit_ && (length <= CoalescedPut::kShort || to.holding_pays())) {
    if (const int code = pool_.known_failure(rank); code != OMPL_OK) return code;
    if (const int code = send_before(caller, rank, deadline); code != OMPL_OK) return code;
    Context& now = caller.now();
    if (hold(now, channel(now, rank), source, offset, length)) return OMPL_OK;
  }
  auto* local = static_cast<std::byte*>(const_cast<void*>(source));  // only read: Call::put
  const Piece piece{local, offset, length};
  if (is_long(length, deadline)) return put_long(caller, rank, piece);
  bool pending = false;
  const int code = post_piece(caller, rank, Call::put, piece, deadline, &pending);
  if (code != OMPL_OK) return give_up(caller, rank, Call::put, pending, code);
  if (!pending) return code;
  Context& now = caller.now();
  return await_source(now, channel(now, rank), Call::put, deadline, signal_follows);
}

int Sender::get(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
                Deadline deadline) {
  return move(c, rank, Call::get, {static_cast<std::byte*>(target), offset, length}, deadline);
}

// Where signals do not follow data by themselves: until the data are there.
int Sender::await_order(Caller& caller, uint32_t rank, Deadline deadline) {
  Context& c = caller.now();
  PeerChannel& to = channel(c, rank);
  if (!to.has_data() || capabilities_.ordered_signals) return OMPL_OK;
  const uint64_t before = to.posts();
  const int code = pool_.await(c, rank, to.slot(), to.ticket(), Call::put_word, deadline);
  if (code == OMPL_OK && &caller.now() == &c && to.posts() == before) to.data_done();
  return code;
}

int Sender::signal(Context& c, uint32_t rank, const Signal& record, Deadline deadline) {
  Caller caller(c);
  channel(c, rank).saw_signal();
  if (const int code = await_order(caller, rank, deadline); code != OMPL_OK) return code;
  Context& now = caller.now();
  const Blocked what{.call = Call::put_word,
                     .peer = rank,
                     .offset = record.offset,
                     .keeps_thread = channel(now, rank).has_to_be_followed()};
  return post(
      now, channel(now, rank), what, deadline,
      [&](Context& by, PeerChannel& to) { return claim_for(by, to); },
      [&](Context& by, PeerChannel& to, Slot& slot) { return post_signal(by, to, slot, record); },
      Held::joined);
}

int Sender::put_signal(Context& c, const void* source, uint32_t rank, uint64_t offset,
                       std::size_t length, const Signal& record, Deadline deadline) {
  Caller caller(c);
  bool signalled = false;
  int code = OMPL_OK;
  if (capabilities_.ordered_signals && length <= capabilities_.max_message &&
      !is_long(length, deadline)) {
    const Piece piece{static_cast<std::byte*>(const_cast<void*>(source)), offset, length};
    const Blocked what{.call = Call::put_signal,
                       .peer = rank,
                       .offset = offset,
                       .keeps_thread = channel(c, rank).has_to_be_followed()};
    bool pending = false;
    code = post(
        c, channel(c, rank), what, deadline,
        [&](Context& by, PeerChannel& to) { return claim_for(by, to); },
        [&](Context& by, PeerChannel& to, Slot& slot) {
          const Post result = post_put_signal(by, to, slot, piece, record, &signalled);
          pending = result.state == Post::State::pending;
          return result;
        });
    if (code != OMPL_OK) return code;
    Context& now = caller.now();
    if (pending) code = await_source(now, channel(now, rank), what.call, deadline, !signalled);
  } else {
    code = put(c, source, rank, offset, length, deadline, true);
  }
  if (signalled || (code != OMPL_OK && code != OMPL_PENDING)) return code;
  return signal_after(caller, rank, record, code);
}

// The data are under way: the signal must follow them, whatever the time.
int Sender::signal_after(Caller& caller, uint32_t rank, const Signal& record, int code) {
  const int sent = signal(caller.now(), rank, record, Deadline::never());
  return sent == OMPL_OK ? code : give_up(caller, rank, Call::put, code == OMPL_PENDING, sent);
}

// The request goes out within the deadline; its reply is then awaited whatever the time.
int Sender::fetch(Context& c, uint32_t rank, Signal record, uint64_t* before, Deadline deadline) {
  Caller caller(c);
  if (const int code = await_order(caller, rank, deadline); code != OMPL_OK) return code;
  Blocked what{.call = Call::atomic,
               .peer = rank,
               .offset = record.offset,
               .keeps_thread = channel(caller.now(), rank).has_to_be_followed()};
  // Its entry is given back however this ends.
  struct Token {
    Fetches& fetches;
    uint64_t& token;
    bool answered = false;
    ~Token() {
      if (token != 0 && !answered) fetches.abandon(token);
    }
  } token{.fetches = pool_.fetches(), .token = record.token};
  const Slot* asked = nullptr;
  Context& now = caller.now();
  int code = post(
      now, channel(now, rank), what, deadline,
      [&](Context& by, PeerChannel& to) { return claim_for(by, to); },
      [&](Context& by, PeerChannel& to, Slot& slot) {
        if (record.token == 0) record.token = pool_.fetches().take(rank);
        if (record.token == 0) return EndpointPool::kNoCredit;
        asked = &slot;
        return post_signal(by, to, slot, record);
      },
      Held::joined);
  if (code != OMPL_OK) return code;
  what.keeps_thread = false;
  code = Blocker(caller.now(), what, Deadline::never()).run([&]() -> int {
    const int answered = answer_of(record.token, before);
    return answered != 0 ? answered : pool_.fate(*asked, rank);
  });
  token.answered = code == OMPL_OK || code == OMPL_ERR_OFFSET;
  return code;
}

int Sender::answer_of(uint64_t token, uint64_t* before) {
  switch (pool_.fetches().look(token, before)) {
    case Fetches::Answer::none:
      return 0;
    case Fetches::Answer::value:
      return 1;
    case Fetches::Answer::refused:
      break;
  }
  return fail(OMPL_ERR_OFFSET, "an atomic was refused by its target: the word is not allocated there");
}

int Sender::ask(Context& c, PeerChannel& channel, Slot& slot, uint64_t* number, Call call,
                Deadline deadline) {
  const Blocked what{.call = call, .peer = channel.rank()};
  return post(
      c, channel, what, deadline,
      [&](Context&, PeerChannel&) { return slot.try_claim() ? &slot : nullptr; },
      [&](Context&, PeerChannel&, Slot& claimed) {
        const Post result = pool_.ask(claimed, channel.rank());
        if (result.state == Post::State::done) *number = pool_.peer(claimed, channel.rank()).asked;
        return result;
      });
}

// One question serves many handles.
void Sender::try_to_ask(Context& c, Handle& handle) {
  Slot& slot = pool_.slot(handle.slot);
  post_once(
      c, channel(c, handle.rank),
      [&](Context&, PeerChannel&) { return slot.try_claim() ? &slot : nullptr; },
      [&](Context&, PeerChannel&, Slot& claimed) -> Post {
        const SlotPeer& shared = pool_.peer(claimed, handle.rank);
        const bool covered = shared.covered >= handle.number;
        const Post result = covered ? Post{} : pool_.ask(claimed, handle.rank);
        if (result.state == Post::State::done) handle.mark = shared.asked;
        return result;
      });
}

}  // namespace ompl
