// SPDX-License-Identifier: BSD-3-Clause
// Long puts: in segments, over several endpoints of the pool at once. A segment goes to whichever of them can be claimed
// at once and has fewer than kPaced under way to that rank; one claim is held at a time. The put returns when all
// have landed, so that any signal may follow it. If it fails they become orphans of the context, by which later signals and
// flushes learn of that.
#include <algorithm>
#include <new>

#include "core/network/post.hpp"

namespace ompl {

using conduit::Post;

namespace {
constexpr uint32_t kMostStripes = 16;

constexpr std::size_t divide_up(std::size_t number, std::size_t by) { return (number + by - 1) / by; }
}  // namespace

// A long put under way.
struct Sender::MultirailPut {
  uint32_t rank;
  Piece rest;                                    // not posted yet
  uint32_t first;                                // slot of the first stripe; the others follow
  uint32_t count;                                // of stripes
  std::array<uint64_t, kMostStripes> tickets{};  // of each one's last segment; 0: none
  std::size_t share = 0;                         // segments for each stripe in this turn
  int code = OMPL_OK;                            // the first failure: nothing more is posted

  [[nodiscard]] bool posts() const { return rest.length > 0 && code == OMPL_OK; }
};

int Sender::put_long(Caller& caller, uint32_t rank, const Piece& piece) {
  if (const int code = send_before(caller, rank, Deadline::never()); code != OMPL_OK) return code;
  Context& c = caller.now();
  PeerChannel& channel = this->channel(c, rank);
  if (channel.has_data()) {  // told of its endpoint's failure [18]
    const int broken = pool_.failure_of(*pool_.slot(channel.slot()).endpoint, rank);
    if (broken != OMPL_OK) return broken;
  }
  MultirailPut put{.rank = rank,
                   .rest = piece,
                   .first = c.preferred_slot,
                   .count = std::min({capabilities_.stripes, pool_.size(), kMostStripes})};
  const Blocked what{.call = Call::put,
                     .peer = rank,
                     .offset = piece.offset,
                     .own_end = true,
                     .keeps_thread = true};  // should it fail, the context learns what is an orphan
  channel.orphans().reserve(channel.orphans().size() + put.count);
  const int code = carry(c, put, what);
  if (code == OMPL_OK) return code;
  c.fast = &Context::nobody;  // the fast paths know nothing of orphans
  for (uint32_t stripe = 0; stripe < put.count; ++stripe) {
    if (put.tickets[stripe] != 0)
      channel.orphans().push_back({pool_.slot(put.first + stripe).index, put.tickets[stripe]});
  }
  c.channels.touch(channel);
  return code;
}

// Until nothing of it is under way any more.
int Sender::carry(Context& c, MultirailPut& put, const Blocked& what) {
  for (;;) {
    try {
      Blocker blocker(c, what, Deadline::never());
      return blocker.run([&]() -> int {
        bool again = false;
        const int result = advance(c, put, &again);
        if (again) blocker.stay_awake();
        return result;
      });
    } catch (const std::bad_alloc&) {
      if (put.code == OMPL_OK) put.code = no_memory();
    }
  }
}

// One turn of all stripes: 1 if all has landed, 0 if not yet, or the error, once nothing is under way any more. *again:
// trying again at once may do more.
int Sender::advance(Context& c, MultirailPut& put, bool* again) {
  uint32_t over = 0;
  uint32_t broken = 0;
  put.share = divide_up(divide_up(put.rest.length, capabilities_.segment), put.count);
  for (uint32_t stripe = 0; stripe < put.count; ++stripe) {
    Slot& slot = pool_.slot(put.first + stripe);
    const uint64_t ticket = put.tickets[stripe];
    const int state = pool_.completion_status(slot.index, put.rank, ticket);
    if (state < 0) {
      ++over;
      const bool lost = ticket != 0 || ++broken == put.count;
      if (lost && put.code == OMPL_OK) put.code = state;
    } else if (!put.posts() && state == 1) {
      ++over;
    } else {
      *again = drive(c, slot, put, &put.tickets[stripe]) || *again;
    }
  }
  if (over < put.count || put.posts()) return 0;
  return put.code == OMPL_OK ? 1 : put.code;
}

// Takes in what one stripe has completed and posts what it may carry. True if trying again at once may do more.
bool Sender::drive(Context& c, Slot& slot, MultirailPut& put, uint64_t* ticket) {
  if (!pool_.claim(c, slot)) return put.posts();
  bool found = false;
  {
    const EndpointPool::Claim claimed(pool_, slot);
    found = pool_.turn(slot) > 0;
    post_segments(slot, put, ticket);
  }
  if (found) pool_.hand_on();
  return found;
}

void Sender::post_segments(Slot& slot, MultirailPut& put, uint64_t* ticket) {
  SlotPeer& to = pool_.peer(slot, put.rank);
  for (std::size_t left = put.share; left > 0 && put.posts(); --left) {
    if (slot.endpoint->completed(put.rank) < to.paced[to.segments % kPaced]) return;
    Piece& rest = put.rest;
    const std::size_t length = std::min(rest.length, capabilities_.segment);
    const Post result = slot.endpoint->put(put.rank, rest.local, rest.offset, length);
    if (result.state == Post::State::failed) put.code = result.code;
    if (result.state != Post::State::done && result.state != Post::State::pending) return;
    rest = {rest.local + length, rest.offset + length, rest.length - length};
    *ticket = to.paced[to.segments++ % kPaced] = result.ticket;
    ++to.sent;
    to.used.store(true, std::memory_order_relaxed);
    to.last_ticket.store(std::max(to.last_ticket.load(), result.ticket));
  }
}

// Done if there is none, nor a packed put that is not unpacked; else retry or failed.
Post Sender::look_at_orphans(PeerChannel& channel) {
  for (const OrphanedSegment& orphan : channel.orphans()) {
    const int state = pool_.completion_status(orphan.slot, channel.rank(), orphan.ticket);
    if (state < 0) return {.state = Post::State::failed, .code = state};
    if (state == 0) return EndpointPool::kNoCredit;
  }
  channel.orphans().clear();
  if (!channel.holds_signals()) return {};
  const int code = pool_.known_failure(channel.rank());
  return code == OMPL_OK ? EndpointPool::kNoCredit : Post{.state = Post::State::failed, .code = code};
}

int Sender::await_orphans(Context& c, PeerChannel& channel, Call call, Deadline deadline) {
  int first_error = OMPL_OK;
  for (const OrphanedSegment& orphan : std::vector(channel.orphans())) {
    const int code = pool_.await(c, channel.rank(), orphan.slot, orphan.ticket, call, deadline, true);
    if (first_error == OMPL_OK || code == OMPL_ERR_TIMEOUT) first_error = code;
  }
  if (first_error == OMPL_ERR_TIMEOUT) return first_error;
  std::erase_if(channel.orphans(), [&](const OrphanedSegment& orphan) {
    return pool_.slot(orphan.slot).endpoint->completed(channel.rank()) >= orphan.ticket;
  });
  if (channel.nothing_packed()) return first_error;
  calls::RemoteCalls& calls = c.runtime->remote_calls;
  const Blocked what{.call = call, .peer = channel.rank(), .keeps_thread = true};
  const int code = Blocker(c, what, deadline).run([&]() -> int {
    if (!channel.awaits_packed()) return calls.test_gets(c, channel.rank());
    return pool_.known_failure(channel.rank());
  });
  if (code == OMPL_ERR_TIMEOUT) return code;
  if (code != OMPL_OK) calls.give_up_gets(c, channel.rank());
  channel.forget_packed();
  return first_error == OMPL_OK ? code : first_error;
}

}  // namespace ompl
