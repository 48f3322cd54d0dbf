// SPDX-License-Identifier: BSD-3-Clause
// Long puts: in segments, over several endpoints of the pool at once. A segment goes to whichever of them can be claimed
// at once and has fewer than kPaced under way to that rank; one claim is held at a time. The put returns when all
// have landed, so that any signal may follow it. If it fails they become orphans of the context, by which later signals and
// flushes learn of that.
#include <algorithm>

#include "core/job/runtime.hpp"
#include "core/wait/block.hpp"

namespace ompl {

using conduit::Post;

namespace {
constexpr uint32_t kMostStripes = 16;

constexpr std::size_t divide_up(std::size_t number, std::size_t by) { return (number + by - 1) / by; }
}  // namespace

// A long put under way.
struct Network::MultirailPut {
  uint32_t rank;
  Piece rest;                                    // not posted yet
  uint32_t first;                                // slot of the first stripe; the others follow
  uint32_t count;                                // of stripes
  std::array<uint64_t, kMostStripes> tickets{};  // of each one's last segment; 0: none
  std::size_t share = 0;                         // segments for each stripe in this turn
  int code = OMPL_OK;                            // the first failure: nothing more is posted

  [[nodiscard]] bool posts() const { return rest.length > 0 && code == OMPL_OK; }
};

int Network::put_long(Context& c, uint32_t rank, const Piece& piece) {
  if (c.held.any()) {
    const uint32_t before = c.held.rank;
    const int code = post_held(c, Call::put, Deadline::never());
    if (code != OMPL_OK && before == rank) return code;
  }
  if (!c.outstanding.empty() && c.outstanding[rank].data) {  // told of its endpoint's failure [18]
    const int broken = failure_of(*slots_[c.outstanding[rank].slot].endpoint, rank);
    if (broken != OMPL_OK) return broken;
  }
  MultirailPut put{.rank = rank,
                   .rest = piece,
                   .first = c.preferred_slot,
                   .count = std::min({capabilities_.stripes, slots(), kMostStripes})};
  const Blocked what{.call = Call::put,
                     .peer = rank,
                     .offset = piece.offset,
                     .bucket = &runtime_.segment_.header().any,
                     .own_end = true};
  Blocker blocker(runtime_, c, what, Deadline::never());
  const int code = blocker.run([&]() -> int {
    bool again = false;
    const int result = advance(c, put, &again);
    if (again) blocker.stay_awake();
    return result;
  });
  if (code == OMPL_OK) return code;
  c.route = {};  // the fast paths know nothing of orphans
  for (uint32_t stripe = 0; stripe < put.count; ++stripe) {
    if (put.tickets[stripe] != 0)
      c.orphans.push_back({rank, (put.first + stripe) % slots(), put.tickets[stripe]});
  }
  return code;
}

// One turn of all stripes: 1 if all has landed, 0 if not yet, or the error, once nothing is under way any more. *again:
// trying again at once may do more.
int Network::advance(Context& c, MultirailPut& put, bool* again) {
  uint32_t over = 0;
  uint32_t broken = 0;
  put.share = divide_up(divide_up(put.rest.length, capabilities_.segment), put.count);
  for (uint32_t stripe = 0; stripe < put.count; ++stripe) {
    Slot& slot = slots_[(put.first + stripe) % slots()];
    const uint64_t ticket = put.tickets[stripe];
    const int state = completion_status(slot.index, put.rank, ticket);
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
bool Network::drive(Context& c, Slot& slot, MultirailPut& put, uint64_t* ticket) {
  if (!try_claim(slot)) {
    ++c.statistics.failed_claims;
    slot.wanted.store(true, std::memory_order_relaxed);
    return put.posts();
  }
  const bool found = turn(slot) > 0;
  post_segments(slot, put, ticket);
  release(slot);
  if (found) wake_completions();
  return found;
}

void Network::post_segments(Slot& slot, MultirailPut& put, uint64_t* ticket) {
  SlotPeer& to = slot_peer(slot, put.rank);
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

// Done if the context has no orphaned segment there, else retry or failed.
Post Network::look_at_strays(Context& c, uint32_t rank) {
  if (c.orphans.empty()) [[likely]]
    return {};
  for (const OrphanedSegment& orphan : c.orphans) {
    if (orphan.rank != rank) continue;
    const int state = completion_status(orphan.slot, rank, orphan.ticket);
    if (state < 0) return {.state = Post::State::failed, .code = state};
    if (state == 0) return kNoCredit;
  }
  std::erase_if(c.orphans, [rank](const OrphanedSegment& orphan) { return orphan.rank == rank; });
  return {};
}

// The yield hook may add some and remove some while this waits.
int Network::await_strays(Context& c, Call call, Deadline deadline) {
  int first_error = OMPL_OK;
  for (const OrphanedSegment& orphan : std::vector(c.orphans)) {
    const int code = await_data(c, orphan.rank, orphan.slot, orphan.ticket, call, deadline);
    if (first_error == OMPL_OK || code == OMPL_ERR_TIMEOUT) first_error = code;
  }
  if (first_error == OMPL_ERR_TIMEOUT) return first_error;
  std::erase_if(c.orphans, [this](const OrphanedSegment& orphan) {
    return slots_[orphan.slot].endpoint->completed(orphan.rank) >= orphan.ticket;
  });
  return first_error;
}

}  // namespace ompl
