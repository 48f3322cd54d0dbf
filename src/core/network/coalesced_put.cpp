// SPDX-License-Identifier: BSD-3-Clause
// Puts that wait for the signal that follows them; how they go out with it, or alone.
#include "core/network/coalesced_put.hpp"

#include "core/network/post.hpp"

namespace ompl {

using conduit::Post;

namespace {

// Whether what could not be sent, with that code, is held all the same, for another try.
bool stays_held(int code) { return code == OMPL_ERR_TIMEOUT || code == OMPL_ERR_MEMORY; }

}  // namespace

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
  return stays_held(code) || (before != nullptr && before->rank() == next) ? code : OMPL_OK;
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
  bool signalled = record == nullptr;
  const Post result = post_taken(channel, slot, record, &signalled);
  if (result.state == Post::State::retry) return result;
  if (result.state == Post::State::failed) {
    note_lost(c, channel, result.code);
    return result;
  }
  note_data(c, channel, slot, result);
  if (result.state == Post::State::pending) held.in_use_until(slot.index, result.ticket);
  if (record != nullptr && signalled) note_signal(c, channel, slot);
  held.forget();
  c.holder.store(nullptr, std::memory_order_relaxed);
  if (!signalled) return EndpointPool::kNoCredit;  // the signal alone, next time
  return record == nullptr ? result : Post{};      // what is still read is no memory of the caller
}

// What was taken, with `record` unless that is null. After a retry, or an exception, it is held again.
Post Sender::post_taken(PeerChannel& channel, Slot& slot, const Signal* record, bool* signalled) {
  CoalescedPut& held = channel.held;
  const uint32_t rank = channel.rank();
  conduit::Endpoint& endpoint = *slot.endpoint;
  try {
    pool_.peer(slot, rank);  // so that what was posted can be noted without memory
    Post result = EndpointPool::kNoCredit;
    if (record == nullptr) {
      result = endpoint.put(rank, held.data(), held.offset(), held.length());
    } else if (EndpointPool::Credit credit(pool_, slot, rank); credit.taken()) {
      result = endpoint.put_signal(rank, held.data(), held.offset(), held.length(), *record, signalled);
      if (*signalled) credit.keep();
    }
    if (result.state == Post::State::retry) held.give_back();
    return result;
  } catch (const std::bad_alloc&) {
    held.give_back();
    throw;
  }
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
  if (result.state == Post::State::failed && !stays_held(result.code) && holder(c) == &channel &&
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
  if (code != OMPL_OK && !stays_held(code) && &blocker.context() == &c && holder(c) == channel &&
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
// taken; it does not take long. What could not be sent for want of memory is held again.
std::vector<Sender::Taken> Sender::take_all_held(Context& context, int* code) {
  Caller caller(context);
  *code = post_held(context, Call::quiet, Deadline::never());
  Context& c = caller.now();  // from here on the thread is kept
  std::vector<Taken> taken;
  for (Context* other = contexts_.newest(); other != nullptr; other = other->next) {
    PeerChannel* const theirs = other->holder.load(std::memory_order_acquire);
    if (other == &c || theirs == nullptr) continue;
    int sent = OMPL_OK;
    try {
      taken.reserve(taken.size() + 1);
      sent = send_theirs(c, *theirs, &taken);
    } catch (const std::bad_alloc&) {
      sent = no_memory();
    }
    if (*code == OMPL_OK) *code = sent;
  }
  return taken;
}

// There is room in `taken`.
int Sender::send_theirs(Context& c, PeerChannel& theirs, std::vector<Taken>* taken) {
  CoalescedPut& held = theirs.held;
  PeerChannel& mine = channel(c, theirs.rank());
  while (held.any() && !held.lost() && !held.take()) arch::pause();
  if (!held.any() || held.lost()) return OMPL_OK;
  const Piece piece{const_cast<std::byte*>(held.data()), held.offset(), held.length()};
  int sent = OMPL_ERR_MEMORY;
  try {
    sent = move(c, theirs.rank(), Call::quiet, piece, Deadline::never(), true);
  } catch (const std::bad_alloc&) {
    held.give_back();
    throw;
  }
  if (sent == OMPL_OK) {
    taken->push_back({&theirs, mine.slot()});
  } else if (stays_held(sent)) {
    held.give_back();
  } else {
    held.lose(sent);
  }
  return sent;
}

void Sender::settle_taken(const std::vector<Taken>& taken) noexcept {
  for (const auto& [channel, slot] : taken) {
    const int lost = pool_.failure_of(*pool_.slot(slot).endpoint, channel->rank());
    lost == OMPL_OK ? channel->held.forget() : channel->held.lose(lost);
  }
}

}  // namespace ompl
