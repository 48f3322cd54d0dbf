// SPDX-License-Identifier: BSD-3-Clause
// Puts that wait for the signal that follows them; how they go out with it, or alone.
#include "core/network/coalesced_put.hpp"

#include "core/network/post.hpp"

namespace ompl {

using conduit::Post;

// Another thread may have sent it.
PeerChannel* Sender::holder(Context& c) {
  PeerChannel* const channel = c.holder.load(std::memory_order_relaxed);
  if (channel == nullptr || channel->held.any()) return channel;
  c.holder.store(nullptr, std::memory_order_relaxed);
  return nullptr;
}

int Sender::send_before(Caller& caller, uint32_t next, Deadline deadline) {
  const PeerChannel* const before = holder(caller.now());
  const int code = post_held(caller.now(), Call::put, deadline);
  return code == OMPL_ERR_TIMEOUT || (before != nullptr && before->rank() == next) ? code : OMPL_OK;
}

bool Sender::hold(Context& c, PeerChannel& channel, const void* source, uint64_t offset,
                  std::size_t length) {
  const bool room = channel.held.make_room(length, [&](uint32_t slot, uint64_t ticket) {
    return pool_.completion_status(slot, channel.rank(), ticket) != 0;
  });
  if (!room) return false;
  c.holder.store(&channel, std::memory_order_release);  // whoever completes for all reads the channel
  channel.held.hold(source, offset, length);
  return true;
}

// Sends what the context holds, on a slot claimed for its rank: with `record`, or alone if that is null. Nothing to
// send is no error: another thread, which completes the operations of all contexts, may have sent it.
Post Sender::send_held_on(Context& c, Slot& slot, const Signal* record) {
  PeerChannel& channel = *c.holder.load(std::memory_order_relaxed);
  CoalescedPut& held = channel.held;
  if (!held.take()) {
    if (!held.lost()) return {.state = Post::State::retry, .reason = Post::Reason::busy};
    note_lost(c, channel, held.code());
    return {.state = Post::State::failed, .code = channel.lost()};
  }
  if (record != nullptr && !pool_.take_credit(slot, channel.rank())) {
    held.give_back();
    return EndpointPool::kNoCredit;
  }
  bool signalled = record == nullptr;
  Post result = record != nullptr
                    ? slot.endpoint->put_signal(channel.rank(), held.data(), held.offset(),
                                                held.length(), *record, &signalled)
                    : slot.endpoint->put(channel.rank(), held.data(), held.offset(), held.length());
  if (record != nullptr && !signalled) pool_.give_credit(slot, channel.rank());
  if (result.state == Post::State::retry) {
    held.give_back();
    return result;
  }
  if (result.state == Post::State::failed) {
    note_lost(c, channel, result.code);
    return result;
  }
  note_data(c, channel, slot, result);
  if (result.state == Post::State::pending) held.in_use_until(slot.index, result.ticket);
  if (!signalled) {
    result = EndpointPool::kNoCredit;  // the signal alone, next time
  } else if (record != nullptr) {
    note_signal(c, channel, slot);
    result = {};  // the signal is accepted; what is still read is no memory of the caller
  }
  held.forget();
  c.holder.store(nullptr, std::memory_order_relaxed);
  return result;
}

// What the context held is lost. The fast paths know nothing of that.
void Sender::note_lost(Context& c, PeerChannel& channel, int code) {
  channel.note_lost(code);
  c.channels.touch(channel);
  c.fast = &Context::nobody;
  channel.held.forget();
  c.holder.store(nullptr, std::memory_order_relaxed);
}

Post Sender::try_held(Context& c) {
  PeerChannel& channel = *c.holder.load(std::memory_order_relaxed);
  const Post result = post_once(
      c, channel, [&](Context& by, PeerChannel& to) { return claim_for(by, to); },
      [&](Context& by, PeerChannel&, Slot& slot) { return send_held_on(by, slot, nullptr); },
      Held::joined);
  // Not even tried where the connection is known broken.
  if (result.state == Post::State::failed && holder(c) == &channel &&
      (channel.held.take() || channel.held.lost()))
    note_lost(c, channel, result.code);
  return result;
}

int Sender::post_held(Context& c, Call call, Deadline deadline) {
  PeerChannel* const channel = holder(c);
  if (channel == nullptr) return OMPL_OK;
  const Blocked what{.call = call, .peer = channel->rank(), .offset = channel->held.offset()};
  Blocker blocker(c, what, deadline);
  // In another thread the call goes on with what that one's context holds.
  const int code = blocker.run([&]() -> int {
    Context& now = blocker.context();
    if (holder(now) == nullptr) return 1;
    const Post result = try_held(now);
    if (result.reason == Post::Reason::busy) blocker.stay_awake();
    if (result.state == Post::State::retry) return 0;
    return result.state == Post::State::failed ? result.code : 1;
  });
  if (code != OMPL_OK && code != OMPL_ERR_TIMEOUT && &blocker.context() == &c && holder(c) == channel &&
      (channel->held.take() || channel->held.lost()))
    note_lost(c, *channel, code);
  return code;
}

// The end of a thread must not wait. What is still held then goes out with the next use of the context, or with
// ompl_free or ompl_finalize.
void Sender::let_go(Context& c) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries && holder(c) != nullptr; ++i) send_held(c);
}

// Until it is complete their threads must not overtake what was taken. A thread that is sending what it holds has it
// taken; it does not take long.
std::vector<Sender::Taken> Sender::take_all_held(Context& context, int* code) {
  Caller caller(context);
  *code = post_held(context, Call::quiet, Deadline::never());
  Context& c = caller.now();  // from here on the thread is kept
  std::vector<Taken> taken;
  for (Context* other = contexts_.newest(); other != nullptr; other = other->next) {
    PeerChannel* const theirs = other->holder.load(std::memory_order_acquire);
    if (other == &c || theirs == nullptr) continue;
    CoalescedPut& held = theirs->held;
    while (held.any() && !held.lost() && !held.take()) arch::pause();
    if (!held.any() || held.lost()) continue;
    const Piece piece{const_cast<std::byte*>(held.data()), held.offset(), held.length()};
    PeerChannel& mine = channel(c, theirs->rank());
    const int sent = move(c, theirs->rank(), Call::quiet, piece, Deadline::never(), true);
    if (sent == OMPL_OK) {
      taken.push_back({theirs, mine.slot()});
    } else {
      held.lose(sent);
      if (*code == OMPL_OK) *code = sent;
    }
  }
  return taken;
}

void Sender::settle_taken(const std::vector<Taken>& taken) {
  for (const auto& [channel, slot] : taken) {
    const int lost = pool_.failure_of(*pool_.slot(slot).endpoint, channel->rank());
    lost == OMPL_OK ? channel->held.forget() : channel->held.lose(lost);
  }
}

}  // namespace ompl
