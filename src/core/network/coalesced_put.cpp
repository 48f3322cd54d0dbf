// SPDX-License-Identifier: BSD-3-Clause
// Short puts that wait for the signal that follows them; how they go out with it, or alone.
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "core/wait/block.hpp"

namespace ompl {

using conduit::Post;

// What was held before goes out first, so that a signal joins the last put.
int Network::hold(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                  Deadline deadline) {
  CoalescedPut& held = c.held;
  if (held.any()) {
    const uint32_t before = held.rank;
    const int code = post_held(c, Call::put, deadline);
    if (code == OMPL_ERR_TIMEOUT || (code != OMPL_OK && before == rank)) return code;
  }
  held.hold(source, rank, offset, length);
  return OMPL_OK;
}

// Sends what the context holds, on a slot claimed for its rank: with `record`, or alone if that is null. Nothing to
// send is no error: another thread, which completes the operations of all contexts, may have sent it.
Post Network::send_held_on(Context& c, Slot& slot, const Signal* record) {
  CoalescedPut& held = c.held;
  if (!held.take())
    return held.lost() ? note_lost(c, held.code)
                       : Post{.state = Post::State::retry, .reason = Post::Reason::busy};
  bool signalled = record == nullptr;
  Post result = record != nullptr
                    ? slot.endpoint->put_signal(held.rank, held.data.data(), held.offset, held.length,
                                                *record, &signalled)
                    : slot.endpoint->put(held.rank, held.data.data(), held.offset, held.length);
  if (result.state == Post::State::retry) {
    held.give_back();
    return result;
  }
  if (result.state == Post::State::failed) return note_lost(c, result.code);
  note_data(c, slot, held.rank, result);
  if (!signalled) {
    result = kNoCredit;  // the signal alone, next time
  } else if (record != nullptr) {
    note_signal(c, slot, held.rank);
  }
  held.forget();
  return result;
}

// What the context held is lost: told by each signal to its rank until a flush tells it too [18]. The fast paths know
// nothing of that.
Post Network::note_lost(Context& c, int code) {
  Outstanding& mine = outstanding(c, c.held.rank);
  mine.lost = code;
  ++mine.posts;
  c.route = {};
  c.held.forget();
  return {.state = Post::State::failed, .code = code};
}

Post Network::try_held(Context& c) {
  const uint32_t rank = c.held.rank;
  const Post result = post_once(
      c, rank, [&] { return claim_for(c, rank); },
      [&](Slot& slot) { return send_held_on(c, slot, nullptr); }, Held::joined);
  // Not even tried where the connection is known broken.
  if (result.state == Post::State::failed && (c.held.take() || c.held.lost()))
    note_lost(c, result.code);
  return result;
}

int Network::post_held(Context& c, Call call, Deadline deadline) {
  const Blocked what{.call = call,
                     .peer = c.held.rank,
                     .offset = c.held.offset,
                     .bucket = &runtime_.segment_.header().any};
  Blocker blocker(runtime_, c, what, deadline);
  const int code = blocker.run([&]() -> int {
    if (!c.held.any()) return 1;
    const Post result = try_held(c);
    if (result.reason == Post::Reason::busy) blocker.stay_awake();
    if (result.state == Post::State::retry) return 0;
    return result.state == Post::State::failed ? result.code : 1;
  });
  if (code != OMPL_OK && code != OMPL_ERR_TIMEOUT && (c.held.take() || c.held.lost()))
    note_lost(c, code);
  return code;
}

// The end of a thread must not wait. What is still held then goes out with the next use of the context, or with
// ompl_free or ompl_finalize.
void Network::let_go(Context& c) {
  constexpr int kTries = 1000;
  for (int i = 0; i < kTries && c.held.any(); ++i) send_held(c);
}

// Sends, through `c`, what all contexts hold. Until it is complete their threads must not overtake it: forget() it
// or lose() it then. A thread that is sending what it holds has it taken; it does not take long.
std::vector<Network::Taken> Network::take_all_held(Context& c, int* code) {
  *code = c.held.any() ? post_held(c, Call::quiet, Deadline::never()) : OMPL_OK;
  std::vector<Taken> taken;
  for (Context* other = runtime_.contexts_.load(std::memory_order_acquire); other != nullptr;
       other = other->next) {
    CoalescedPut& held = other->held;
    if (other == &c) continue;
    while (held.any() && !held.lost() && !held.take()) arch::pause();
    if (!held.any() || held.lost()) continue;
    const Piece piece{held.data.data(), held.offset, held.length};
    const int sent = move(c, Call::quiet, held.rank, piece, Deadline::never());
    if (sent == OMPL_OK) {
      taken.push_back({&held, c.outstanding[held.rank].slot});
    } else {
      held.lose(sent);
      if (*code == OMPL_OK) *code = sent;
    }
  }
  return taken;
}

}  // namespace ompl
