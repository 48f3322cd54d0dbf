// SPDX-License-Identifier: BSD-3-Clause
#include "core/network/completion.hpp"

#include <cstring>

#include "core/wait/block.hpp"

namespace ompl {

// Asks the target on every slot of the set, and notes the questions.
int Completion::ask(Context& c, PeerChannel& channel, uint64_t slots, std::vector<Mark>* marks,
                    Call call, Deadline deadline) {
  for (uint32_t i = 0; slots != 0; ++i, slots >>= 1) {
    if ((slots & 1) == 0) continue;
    Mark mark{.rank = channel.rank(), .slot = i, .number = 0};
    const int code = sender_.ask(c, channel, pool_.slot(i), &mark.number, call, deadline);
    if (code != OMPL_OK) return code;
    marks->push_back(mark);
  }
  return OMPL_OK;
}

int Completion::await_marks(Context& c, const std::vector<Mark>& marks, Call call, Deadline deadline) {
  int first_error = OMPL_OK;
  for (const Mark& mark : marks) {
    Slot& slot = pool_.slot(mark.slot);
    const SlotPeer& shared = pool_.peer(slot, mark.rank);
    const Blocked what{.call = call, .peer = mark.rank, .bucket = &runtime_.bucket_any()};
    const int code = Blocker(runtime_, c, what, deadline).run([&]() -> int {
      if (shared.acknowledged.load(std::memory_order_seq_cst) >= mark.number) return 1;
      return pool_.fate(slot, mark.rank);
    });
    if (first_error == OMPL_OK) first_error = code;
  }
  return first_error;
}

// Asks the slots concerned, then awaits the answers. While it waits the yield hook may put, signal and complete on the
// same context: only what was outstanding at the beginning and is still the last of its rank is done with.
int Completion::complete(Context& c, Call call, bool signals_too, Deadline deadline) {
  int first_error = OMPL_OK;
  bool timed_out = false;
  const auto note = [&](int code) {
    if (first_error == OMPL_OK) first_error = code;
    timed_out = timed_out || code == OMPL_ERR_TIMEOUT;
  };
  note(sender_.post_held(c, call, deadline));
  if (timed_out) return first_error;
  struct Covered {
    PeerChannel* channel;
    uint64_t posts;
  };
  std::vector<Covered> covered;
  covered.reserve(c.channels.touched().size());
  for (PeerChannel* const channel : c.channels.touched())
    covered.push_back({channel, channel->posts()});

  std::vector<Mark> marks;
  for (const auto& [channel, posts] : covered) {
    channel->saw_flush();
    note(channel->lost());
    uint64_t slots = signals_too ? channel->signalled_slots() : 0;
    if (channel->has_data()) {
      const uint32_t slot = channel->slot();
      note(pool_.await(c, channel->rank(), slot, channel->ticket(), call, deadline));
      if (!pool_.capabilities().remote_completion) slots |= uint64_t{1} << slot;
    }
    note(ask(c, *channel, slots, &marks, call, deadline));
    note(sender_.await_orphans(c, *channel, call, deadline));
  }
  note(await_marks(c, marks, call, deadline));
  if (timed_out) return first_error;  // nothing is forgotten: flush again

  for (const auto& [channel, posts] : covered) {  // done, or told: an error is told once [18]
    if (channel->posts() == posts) channel->all_done(signals_too);
  }
  c.channels.drop_idle();
  return first_error;
}

int Completion::quiet_all(Context& c) {
  int first_error = OMPL_OK;
  const auto note = [&first_error](int code) {
    if (first_error == OMPL_OK) first_error = code;
  };
  int code = OMPL_OK;
  const std::vector<Sender::Taken> taken = sender_.take_all_held(c, &code);
  note(code);
  std::vector<Mark> marks;
  for (Slot& slot : pool_.slots()) {
    for (uint32_t rank = 0; rank < runtime_.size(); ++rank) {
      const SlotPeer* shared = slot.peers[rank].load(std::memory_order_acquire);
      if (shared == nullptr || !shared->used.load() || slot.endpoint->failure(rank) != OMPL_OK)
        continue;
      const uint64_t last = shared->last_ticket.load();
      note(pool_.await(c, rank, slot.index, last, Call::quiet, Deadline::never()));
      Mark mark{.rank = rank, .slot = slot.index, .number = 0};
      PeerChannel& channel = sender_.channel(c, rank);
      const int asked = sender_.ask(c, channel, slot, &mark.number, Call::quiet, Deadline::never());
      note(asked);
      if (asked == OMPL_OK) marks.push_back(mark);
    }
  }
  note(await_marks(c, marks, Call::quiet, Deadline::never()));
  sender_.settle_taken(taken);
  return first_error;
}

int Completion::test(Context& c, Handle& handle) {
  Slot& slot = pool_.slot(handle.slot);
  if (handle.kind == Pending::Kind::fetch) {
    uint64_t before = 0;
    int answered = sender_.answer_of(handle.ticket, &before);
    if (answered == 0) answered = pool_.fate(slot, handle.rank);
    if (answered == 1) std::memcpy(handle.before, &before, handle.width);
    if (answered < 0) forget(handle);
    return answered;
  }
  if (handle.kind == Pending::Kind::local || pool_.capabilities().remote_completion) {
    if (const int state = pool_.completion_status(handle.slot, handle.rank, handle.ticket); state != 0)
      return state;
  } else if (slot.endpoint->completed(handle.rank) >= handle.ticket) {
    if (handle.mark == 0) sender_.try_to_ask(c, handle);
    if (handle.mark != 0 && pool_.peer(slot, handle.rank).acknowledged.load() >= handle.mark) return 1;
  }
  return pool_.fate(slot, handle.rank);
}

void Completion::forget(Handle& handle) {
  if (handle.kind == Pending::Kind::fetch) pool_.fetches().abandon(handle.ticket);
  handle.kind = Pending::Kind::none;
}

}  // namespace ompl
