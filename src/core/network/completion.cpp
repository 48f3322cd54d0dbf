// SPDX-License-Identifier: BSD-3-Clause
#include "core/network/completion.hpp"

#include <algorithm>
#include <cstring>

#include "core/wait/block.hpp"

namespace ompl {

// Asks the target on every slot of the set, and notes the questions.
int Completion::ask(Caller& caller, uint32_t rank, uint64_t slots, std::pmr::vector<Mark>* marks,
                    Call call, Deadline deadline) {
  for (uint32_t i = 0; slots != 0; ++i, slots >>= 1) {
    if ((slots & 1) == 0) continue;
    Mark mark{.rank = rank, .slot = i, .number = 0};
    Context& c = caller.now();
    const int code =
        sender_.ask(c, sender_.channel(c, rank), pool_.slot(i), &mark.number, call, deadline);
    if (code != OMPL_OK) return code;
    marks->push_back(mark);
  }
  return OMPL_OK;
}

int Completion::await_marks(Caller& caller, const std::pmr::vector<Mark>& marks, Call call,
                            Deadline deadline) {
  int first_error = OMPL_OK;
  for (const Mark& mark : marks) {
    Slot& slot = pool_.slot(mark.slot);
    const SlotPeer& shared = pool_.peer(slot, mark.rank);
    const Blocked what{.call = call, .peer = mark.rank};
    const int code = Blocker(caller.now(), what, deadline).run([&]() -> int {
      if (shared.acknowledged.load(std::memory_order_seq_cst) >= mark.number) return 1;
      return pool_.fate(slot, mark.rank);
    });
    if (first_error == OMPL_OK) first_error = code;
  }
  return first_error;
}

// Asks the slots concerned, then awaits the answers. While it waits the yield hook may put, signal and complete on the
// same context: only what was outstanding at the beginning and is still the last of its rank is done with. It may also move the
// task: the context is then left to its thread as it is.
int Completion::complete(Context& context, Call call, const Selection& selected, Deadline deadline) {
  Caller caller(context);
  int first_error = OMPL_OK;
  bool timed_out = false;
  const auto note = [&](int code) {
    if (first_error == OMPL_OK) first_error = code;
    timed_out = timed_out || code == OMPL_ERR_TIMEOUT;
  };
  note(sender_.post_held(context, call, deadline));
  if (timed_out) return first_error;
  Context& c = caller.now();
  struct Covered {
    PeerChannel* channel;
    uint32_t rank;
    uint32_t slot;
    uint64_t ticket;  // 0: no data
    uint64_t slots;   // whose signals are to be acknowledged
    uint64_t posts;
    bool signals_too;
  };
  Scratch scratch;
  std::pmr::vector<Covered> covered(&scratch);
  covered.reserve(c.channels.touched().size());
  for (PeerChannel* const channel : c.channels.touched()) {
    const Extent extent = selected(*channel);
    if (extent == Extent::nothing) continue;
    const bool signals_too = extent == Extent::all;
    channel->saw_flush();
    note(channel->lost());
    const bool data = channel->has_data();
    covered.push_back({.channel = channel,
                       .rank = channel->rank(),
                       .slot = data ? channel->slot() : 0,
                       .ticket = data ? channel->ticket() : 0,
                       .slots = signals_too ? channel->signalled_slots() : 0,
                       .posts = channel->posts(),
                       .signals_too = signals_too});
    if (data && !pool_.capabilities().remote_completion)
      covered.back().slots |= uint64_t{1} << channel->slot();
  }
  const auto same_context = [&] { return &caller.now() == &c; };

  std::pmr::vector<Mark> marks(&scratch);
  for (const Covered& one : covered) {
    Context& now = caller.now();
    if (one.ticket != 0) note(pool_.await(now, one.rank, one.slot, one.ticket, call, deadline));
    note(ask(caller, one.rank, one.slots, &marks, call, deadline));
    if (same_context()) note(sender_.await_orphans(c, *one.channel, call, deadline));
  }
  note(await_marks(caller, marks, call, deadline));
  // Nothing is forgotten then: flush again.
  if (timed_out || !same_context()) return first_error;

  for (const Covered& one : covered) {  // done, or told: an error is told once [18]
    if (one.channel->posts() == one.posts) one.channel->all_done(one.signals_too);
  }
  c.channels.drop_idle();
  return first_error;
}

// Data of a channel stay on one slot, which keeps them in order if its conduit does, but for segments of long puts; a record is
// carried out by a CPU of the target, before or after data that come later.
Completion::Extent Completion::needed_for_order(const PeerChannel& channel) const {
  if (channel.signalled_slots() != 0 || channel.lost() != OMPL_OK) return Extent::all;
  const bool apart = !channel.orphans().empty() || channel.awaits_packed();
  if (pool_.capabilities().ordered_puts && !apart) return Extent::nothing;
  return channel.has_data() || apart ? Extent::data : Extent::nothing;
}

int Completion::fence(Context& c, uint32_t rank, Deadline deadline) {
  const Selection selected = [this, rank](const PeerChannel& channel) {
    return is_meant(channel, rank) ? needed_for_order(channel) : Extent::nothing;
  };
  // What is held goes out before anything later of its context.
  const bool ordered = pool_.capabilities().ordered_puts || c.holder.load() == nullptr;
  const auto needs_nothing = [&](const PeerChannel* channel) {
    return selected(*channel) == Extent::nothing;
  };
  if (ordered && std::ranges::all_of(c.channels.touched(), needs_nothing)) return OMPL_OK;
  return complete(c, Call::fence, selected, deadline);
}

int Completion::quiet_all(Context& context) {
  Caller caller(context);
  int first_error = OMPL_OK;
  const auto note = [&first_error](int code) {
    if (first_error == OMPL_OK) first_error = code;
  };
  int code = OMPL_OK;
  // Of what was taken its contexts are told however this ends: they wait for it.
  struct Settlement {
    Sender& sender;
    std::vector<Sender::Taken> taken;
    ~Settlement() { sender.settle_taken(taken); }
  } const settlement{sender_, sender_.take_all_held(context, &code)};
  note(code);
  Scratch scratch;
  std::pmr::vector<Mark> marks(&scratch);
  for (Slot& slot : pool_.slots()) {
    for (uint32_t rank = 0; rank < pool_.ranks(); ++rank) {
      const SlotPeer* shared = slot.peers->find(rank);
      if (shared == nullptr || !shared->used.load() || slot.endpoint->failure(rank) != OMPL_OK)
        continue;
      const uint64_t last = shared->last_ticket.load();
      note(pool_.await(caller.now(), rank, slot.index, last, Call::quiet, Deadline::never()));
      Mark mark{.rank = rank, .slot = slot.index, .number = 0};
      Context& c = caller.now();
      PeerChannel& channel = sender_.channel(c, rank);
      const int asked = sender_.ask(c, channel, slot, &mark.number, Call::quiet, Deadline::never());
      note(asked);
      if (asked == OMPL_OK) marks.push_back(mark);
    }
  }
  note(await_marks(caller, marks, Call::quiet, Deadline::never()));
  note(context.runtime->remote_calls.await_packed(caller.now()));
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

int Completion::test_source(const Handle& handle) {
  if (handle.kind != Pending::Kind::remote && handle.kind != Pending::Kind::local) return 1;
  const Slot& slot = pool_.slot(handle.slot);
  if (slot.endpoint->completed(handle.rank) >= handle.ticket) return 1;
  return pool_.fate(slot, handle.rank);
}

void Completion::forget(Handle& handle) {
  if (handle.kind == Pending::Kind::fetch) pool_.fetches().abandon(handle.ticket);
  handle.kind = Pending::Kind::none;
}

}  // namespace ompl
