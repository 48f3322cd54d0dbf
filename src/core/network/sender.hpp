// SPDX-License-Identifier: BSD-3-Clause
// What contexts send to ranks that are not mapped: puts, gets, signals, atomics; blocking and nonblocking. The
// arguments were checked. Protocol rules 5-7, 12, 14.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/data/handle.hpp"
#include "core/job/context.hpp"
#include "core/network/endpoint_pool.hpp"
#include "core/wait/deadline.hpp"

namespace ompl {

struct Blocked;
class ContextTable;

class Sender {
 public:
  // `capacity`: of a segment.
  Sender(EndpointPool& pool, std::size_t capacity, const ContextTable& contexts);

  // As the functions of data/.
  int put(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
          Deadline deadline, bool signal_follows = false);
  int get(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
          Deadline deadline);
  int signal(Context& c, uint32_t rank, const Signal& record, Deadline deadline);
  int put_signal(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                 const Signal& record, Deadline deadline);
  // An update with the word's value before in *before.
  int fetch(Context& c, uint32_t rank, Signal record, uint64_t* before, Deadline deadline);

  // Nonblocking (nonblocking.cpp): OMPL_OK, OMPL_PENDING (then `handle`, unless null, stands for the operation) or
  // OMPL_RETRY_*.
  int put_nb(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
             const Signal* record, bool local, Handle* handle);
  int get_nb(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
             Handle* handle);
  int signal_nb(Context& c, uint32_t rank, const Signal& record);
  int fetch_nb(Context& c, uint32_t rank, const Signal& record, Handle* handle);

  // Made at first use.
  PeerChannel& channel(Context& c, uint32_t rank) {
    PeerChannel* const fast = c.fast.load(std::memory_order_relaxed);
    return fast->leads_to(rank) ? *fast : find_channel(c, rank);
  }

  // A put or get in pieces, as `next` gives them until it returns false. The first is posted within the
  // deadline, the rest whatever the time: a half-posted transfer could not be told from a whole one.
  struct Piece {
    std::byte* local = nullptr;
    uint64_t offset = 0;
    std::size_t length = 0;
  };
  using Pieces = std::function<bool(Piece*)>;
  // `signal_follows`: through the same context. `begun`: some went before, through the same context.
  int transfer(Context& c, Call call, uint32_t rank, const Pieces& next, Deadline deadline,
               bool signal_follows, bool begun = false);
  // The same without waiting for the first; `record`, unless null, follows. As put_nb() and get_nb().
  int transfer_nb(Context& c, Call call, uint32_t rank, const Pieces& next, const Signal* record,
                  bool local, Handle* handle);
  // The signal that follows data of which `code` was said, OMPL_OK or OMPL_PENDING: that again, or the error, once their
  // buffer is not in use any more.
  int signal_after(Caller& caller, uint32_t rank, const Signal& record, int code);

  // A packed put went out, in entries of the ring of calls (core/calls/packing.hpp).
  void note_packed(Context& c, uint32_t rank, const std::atomic<uint32_t>& read, uint32_t end);
  // A packed get is under way.
  void note_packed_get(Context& c, uint32_t rank);

  // --- What contexts hold (coalesced_put.cpp). Tries once to send it: any call that blocks does, and ompl_poll().
  void send_held(Context& c) {
    if (holder(c) != nullptr) static_cast<void>(try_held(c));
  }
  // Until it is sent.
  int post_held(Context& c, Call call, Deadline deadline);
  // As send_held(), more than once, for a context that will not be used by its thread again.
  void let_go(Context& c);
  // Sends through `c` what all contexts hold; settle_taken() once that is complete.
  struct Taken {
    PeerChannel* channel;
    uint32_t slot;  // where it was sent
  };
  std::vector<Taken> take_all_held(Context& c, int* code);
  void settle_taken(const std::vector<Taken>& taken) noexcept;

  // --- For those that complete
  // Orphans of long puts (multirail_put.cpp), and packed puts. The yield hook may add some and remove some while this waits.
  int await_orphans(Context& c, PeerChannel& channel, Call call, Deadline deadline);
  // Asks the target on that slot to acknowledge all that went there, until it is asked or the time is up; *number: of the
  // question. The other: tries once.
  int ask(Context& c, PeerChannel& channel, Slot& slot, uint64_t* number, Call call, Deadline deadline);
  void try_to_ask(Context& c, Handle& handle);
  // 1: the answer to a fetch came; 0; or the error that it is.
  int answer_of(uint64_t token, uint64_t* before);

 private:
  // What is held goes out before anything else of its context, or with a signal to the same rank.
  enum class Held : uint8_t { first, joined };

  PeerChannel& find_channel(Context& c, uint32_t rank);
  // What was just posted on that slot.
  void note_data(Context& c, PeerChannel& channel, Slot& slot, const conduit::Post& result);
  void note_signal(Context& c, PeerChannel& channel, Slot& slot);
  void note_lost(Context& c, PeerChannel& channel, int code);
  void go_to(Context& c, PeerChannel& channel, Slot& slot);
  static void open_fast_path(Context& c, PeerChannel& channel);

  // The slot on which `c` may post to that rank now, claimed, or nullptr.
  Slot* claim_for(Context& c, PeerChannel& channel);
  // Claims by `claim(Context&, PeerChannel&) -> Slot*`, posts by `attempt(Context&, PeerChannel&, Slot&) -> conduit::Post`, again
  // until it is not refused. Context and channel are those of the calling thread at that moment, which is another one if the
  // yield hook has moved the task.
  template <class Claim, class Attempt>
  int post(Context& c, PeerChannel& channel, const Blocked& what, Deadline deadline, Claim claim,
           Attempt attempt, Held held = Held::first);
  // The same, once: the result may be retry.
  template <class Claim, class Attempt>
  conduit::Post post_once(Context& c, PeerChannel& channel, Claim claim, Attempt attempt,
                          Held held = Held::first);

  // `keeps_thread`: something of the call was posted before.
  int move(Context& c, uint32_t rank, Call call, const Piece& piece, Deadline deadline,
           bool keeps_thread = false);
  int post_piece(Caller& caller, uint32_t rank, Call call, const Piece& piece, Deadline deadline,
                 bool* pending, bool keeps_thread = false);
  conduit::Post post_data(Context& c, PeerChannel& channel, Slot& slot, Call call, const Piece& piece);
  conduit::Post post_signal(Context& c, PeerChannel& channel, Slot& slot, const Signal& record);
  conduit::Post post_put_signal(Context& c, PeerChannel& channel, Slot& slot, const Piece& piece,
                                const Signal& record, bool* signalled);
  [[nodiscard]] conduit::Post may_signal(PeerChannel& channel);
  int await_order(Caller& caller, uint32_t rank, Deadline deadline);
  // `keeps_thread`: a signal is to follow through the same context.
  int await_source(Context& c, PeerChannel& channel, Call call, Deadline deadline,
                   bool keeps_thread = false);
  int give_up(Caller& caller, uint32_t rank, Call call, bool pending, int code);
  template <class Attempt>
  int post_once_then_rest(Context& c, PeerChannel& channel, Call call, const Piece& piece,
                          Attempt attempt, bool* pending);
  void defer(Context& c, PeerChannel& channel, Slot& slot, const Signal& record,
             EndpointPool::Deferral& place);
  conduit::Post post_and_defer(Context& c, PeerChannel& channel, Slot& slot, const Piece& message,
                               const Signal& record, bool whole);
  int signal_nb(Context& c, PeerChannel& channel, const Signal& record, uint32_t* slot_used);

  // Long puts (multirail_put.cpp).
  struct MultirailPut;
  [[nodiscard]] bool is_long(std::size_t length, Deadline deadline) const {
    return length >= long_put_ && !deadline.finite();
  }
  int put_long(Caller& caller, uint32_t rank, const Piece& piece);
  int carry(Context& c, MultirailPut& put, const Blocked& what);
  int advance(Context& c, MultirailPut& put, bool* again);
  bool drive(Context& c, Slot& slot, MultirailPut& put, uint64_t* ticket);
  void post_segments(Slot& slot, MultirailPut& put, uint64_t* ticket);
  [[nodiscard]] conduit::Post look_at_orphans(PeerChannel& channel);

  // The channel that holds a put of the context, or null.
  static PeerChannel* holder(Context& c);
  // What is held goes out before a further put; its error is that put's if both are for the same rank.
  int send_before(Caller& caller, uint32_t next, Deadline deadline);
  // False: there is no room now. While nothing is held.
  bool hold(Context& c, PeerChannel& channel, const void* source, uint64_t offset, std::size_t length);
  conduit::Post try_held(Context& c);
  conduit::Post send_held_on(Context& c, Slot& slot, const Signal* record);
  conduit::Post post_taken(PeerChannel& channel, Slot& slot, const Signal* record, bool* signalled);
  int send_theirs(Context& c, PeerChannel& theirs, std::vector<Taken>* taken);

  EndpointPool& pool_;
  const ContextTable& contexts_;
  const conduit::Capabilities& capabilities_;
  const bool fast_;               // channels may take the fast paths
  const std::size_t hold_limit_;  // bytes of a put that may be held
  const std::size_t long_put_;    // bytes from which a put goes in segments
};

}  // namespace ompl
