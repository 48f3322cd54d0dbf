// SPDX-License-Identifier: BSD-3-Clause
// How the sender posts: on a claimed slot, with the progress that a refusal needs, again until it is taken.
#pragma once

#include <new>
#include <string>
#include <utility>

#include "arch/cancellation.hpp"
#include "core/network/sender.hpp"
#include "core/wait/block.hpp"

namespace ompl {

inline int no_memory() noexcept {
  return fail_quietly_with(OMPL_ERR_MEMORY,
                           [] { return std::string("out of memory: nothing was posted"); });
}

template <class Claim, class Attempt>
conduit::Post Sender::post_once(Context& c, PeerChannel& channel, Claim claim, Attempt attempt,
                                Held held) {
  using conduit::Post;
  const arch::Uncancelled whole;
  if (const PeerChannel* const before = holder(c);
      before != nullptr && (held == Held::first || before != &channel)) {
    const Post sent = try_held(c);
    const bool still_held = holder(c) != nullptr;
    if (sent.state == Post::State::retry ||
        (sent.state == Post::State::failed && (still_held || before == &channel)))
      return sent;
  }
  Post result{.state = Post::State::retry, .reason = Post::Reason::busy};
  if (Slot* slot = claim(c, channel); slot != nullptr) {
    bool found = false;
    const auto look = [&]() -> Post {
      const int broken = pool_.failure_of(*slot->endpoint, channel.rank());
      if (broken != OMPL_OK) return Post{.state = Post::State::failed, .code = broken};
      try {
        return attempt(c, channel, *slot);
      } catch (const std::bad_alloc&) {  // nothing was posted
        return Post{.state = Post::State::failed, .code = no_memory()};
      }
    };
    {
      const EndpointPool::Claim claimed(pool_, *slot);
      result = look();
      // What this turn finds nobody will find again, and it may be all that the post, or others that sleep, waited for.
      found = result.state == Post::State::retry && pool_.turn(*slot) > 0;
      if (found) result = look();
    }
    if (found) pool_.hand_on();
  }
  if (result.state == Post::State::retry) ++c.statistics.retries;
  return result;
}

// Nearly every post is taken at once.
template <class Claim, class Attempt>
int Sender::post(Context& c, PeerChannel& channel, const Blocked& what, Deadline deadline, Claim claim,
                 Attempt attempt, Held held) {
  using conduit::Post;
  Post result = post_once(c, channel, claim, attempt, held);
  if (result.state != Post::State::retry)
    return result.state == Post::State::failed ? pool_.said(what.peer, result.code) : OMPL_OK;
  Blocker blocker(c, what, deadline);
  const uint32_t rank = channel.rank();
  const auto again = [&]() -> int {
    Context& now = blocker.context();
    result = post_once(now, this->channel(now, rank), claim, attempt, held);
    if (result.reason == Post::Reason::busy) blocker.stay_awake();
    if (result.state == Post::State::retry) return 0;
    return result.state == Post::State::failed ? pool_.said(what.peer, result.code) : 1;
  };
  try {
    return blocker.run(again);
  } catch (const std::bad_alloc&) {  // of earlier posts of the call some may be under way: no exception
    return no_memory();
  }
}

}  // namespace ompl
