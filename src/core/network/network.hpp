// SPDX-License-Identifier: BSD-3-Clause
// The endpoint pool of the network conduit, and the operations on ranks that are not mapped: claims,
// retries, completions, credits, acknowledgements. Protocol rules 1-7, 12-14, 18.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arch/cpu.hpp"
#include "conduit/conduit.hpp"
#include "core/data/handle.hpp"
#include "core/job/context.hpp"
#include "core/memory/allocation.hpp"
#include "core/network/fetches.hpp"
#include "core/wait/deadline.hpp"

namespace ompl {

using conduit::Signal;
using conduit::SignalOp;

class Runtime;
struct Blocked;
struct Pool;

// An ack_request under way: answered when the rank has acknowledged `number` to the slot.
struct Mark {
  uint32_t rank;
  uint32_t slot;
  uint64_t number;
};

// Segments of long puts that a slot has under way to a rank at most; a put of so many segments is long.
inline constexpr uint32_t kPaced = 4;

// What one slot and one rank have between them. Written by whoever holds the slot's claim, but for the
// atomics, which any thread reads.
struct SlotPeer {
  std::atomic<uint32_t> in_flight{0};     // records sent whose credit has not come back [4]
  std::atomic<uint64_t> acknowledged{0};  // ack_request numbers up to this one are answered
  std::atomic<uint64_t> last_ticket{0};   // of all data operations
  uint64_t sent = 0;                      // data operations and signals
  uint64_t asked = 0;                     // ack_request numbers given out,
  uint64_t covered = 0;                   // and what was sent before the last of them
  uint64_t segments = 0;                  // of long puts,
  std::array<uint64_t, kPaced> paced{};   // and the tickets of the last ones
  std::atomic<bool> used{false};          // something was sent
  // What is still to be sent; done by whoever progresses the slot.
  uint32_t consumed = 0;        // records whose credit was not returned yet
  std::vector<Signal> replies;  // to the far side's requests
  struct Deferred {
    Signal record;
    uint64_t ticket;  // goes out once the data operations up to this one are complete
  };
  std::deque<Deferred> deferred;  // own signals
  bool reply_pending = false;     // rank stands in Slot::pending_replies
};

// One place of the pool. A claim is an exclusive right to call the endpoint; it is held for a bounded
// number of steps and never across a yield, a sleep or a return to the user.
struct alignas(arch::kCacheLine) Slot {
  std::atomic<bool> claimed{false};
  std::atomic<bool> wanted{false};  // somebody had something to post and found it claimed
  std::atomic<uint32_t> turns{0};   // of progress; counted by whoever holds the claim
  uint32_t index = 0;
  std::unique_ptr<conduit::Endpoint> endpoint;
  std::unique_ptr<std::atomic<SlotPeer*>[]> peers;  // per rank, made at first use
  std::vector<uint32_t> pending_replies;        // ranks to which this slot has acks or credits to send
  Extent flag;                                  // allocation of the last flag signalled from outside,
  std::atomic<uint64_t> last_flag{UINT64_MAX};  // and its offset
};

class Network {
 public:
  Network(Runtime& runtime, conduit::Conduit& conduit, uint32_t slots);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Opens every endpoint. `pools`: of each rank.
  int open(std::vector<Pool> pools);

  // As the functions of Runtime; the arguments were checked.
  int put(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
          Deadline deadline);
  int get(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
          Deadline deadline);
  int signal(Context& c, uint32_t rank, const Signal& record, Deadline deadline);
  int put_signal(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                 const Signal& record, Deadline deadline);
  // An update with the word's value before in *before.
  int fetch(Context& c, uint32_t rank, Signal record, uint64_t* before, Deadline deadline);
  int flush(Context& c, Deadline deadline);
  int quiet(Context& c, Deadline deadline);

  // Nonblocking: OMPL_OK, OMPL_PENDING (then `handle`, unless null, stands for the operation) or OMPL_RETRY_*.
  int put_nb(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
             const Signal* record, bool local, Handle* handle);
  int get_nb(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
             Handle* handle);
  int signal_nb(Context& c, uint32_t rank, const Signal& record, uint32_t* slot_used = nullptr);
  int fetch_nb(Context& c, uint32_t rank, Signal record, Handle* handle);
  // 1: complete; 0; or an error. The handle stands for an operation.
  int test(Context& c, Handle& handle);
  // Its outcome is not wanted any more.
  void forget(Handle& handle);

  // A put or get in pieces, as `next` gives them until it returns false. The first is posted within the
  // deadline, the rest whatever the time: a half-posted transfer could not be told from a whole one.
  struct Piece {
    std::byte* local = nullptr;
    uint64_t offset = 0;
    std::size_t length = 0;
  };
  using Pieces = std::function<bool(Piece*)>;
  int transfer(Context& c, Call call, uint32_t rank, const Pieces& next, Deadline deadline);
  // Tries once to send what the context holds. Any call that blocks does, and so does ompl_poll().
  void send_held(Context& c) {
    if (c.held.any()) static_cast<void>(try_held(c));
  }
  // The same, more than once, for a context that will not be used by its thread again.
  void let_go(Context& c);
  // Everything any context of this rank has sent is applied or visible.
  int quiet_all(Context& c);

  // Ranks that have not departed and to or from which some endpoint has lost something for good. Looks at `count` ranks from
  // `first` on.
  struct Broken {
    uint32_t rank;
    int code;  // OMPL_ERR_PEER if any says so, else OMPL_ERR_LINK
    std::string why;
  };
  [[nodiscard]] std::vector<Broken> broken_peers(uint32_t first, uint32_t count) const;

  // Progresses the slot `first`, and now and then one that nobody else progresses. True if anything was found. Any
  // thread.
  bool progress(Context& c, uint32_t first);
  // A wait for the flag has ended: the next one looks first where it came in.
  void note_arrival(Context& c, uint64_t flag);

  // For the sentinel: arms every endpoint that can be claimed (the holders of the others arm theirs on
  // release). False: there is work, do not sleep.
  bool arm_all();
  // Polls readable when an armed endpoint has work, or the pipe was written.
  [[nodiscard]] int epoll_fd() const { return epoll_fd_; }
  // Every endpoint has a descriptor; if not, sleeps must be short.
  [[nodiscard]] bool can_sleep() const { return all_have_descriptors_; }

  [[nodiscard]] const conduit::Conduit& conduit() const { return conduit_; }
  [[nodiscard]] uint32_t slots() const { return static_cast<uint32_t>(slots_.size()); }
  [[nodiscard]] std::string describe() const;

 private:
  class Inbox;
  static bool try_claim(Slot& slot);
  void release(Slot& slot) {
    slot.claimed.store(false, std::memory_order_seq_cst);
    if (sentinel_->load(std::memory_order_seq_cst) != 0) [[unlikely]]
      arm_released(slot);
  }
  void arm_released(Slot& slot);
  void wake_completions();  // those of this rank who sleep until something completes
  // The slot on which `c` may post to `rank` now, claimed, or nullptr.
  Slot* claim_for(Context& c, uint32_t rank);
  // What is held goes out before anything else of its context, or with a signal to the same rank.
  enum class Held : uint8_t { first, joined };
  SlotPeer& slot_peer(Slot& slot, uint32_t rank);
  Outstanding& outstanding(Context& c, uint32_t rank);

  // A turn of progress, with what it found; false if the slot is claimed. The other: only if nobody had a turn on it since
  // this context last looked.
  bool visit(Slot& slot, bool* found);
  void visit_neglected(Context& c, uint32_t index, bool* found);
  // One turn of progress on a claimed slot: completions, records, replies.
  int turn(Slot& slot);
  void receive(Slot& slot, uint32_t source, const Signal& record);
  void flush_replies(Slot& slot);
  bool flush_reply(Slot& slot, uint32_t rank);
  bool replies_due(Slot& slot);

  // Claims by `claim()`, posts by `attempt(Slot&) -> conduit::Post`, again until it is not refused.
  template <class Claim, class Attempt>
  int post(Context& c, const Blocked& what, Deadline deadline, Claim claim, Attempt attempt,
           Held held = Held::first);
  // The same, once: the result may be retry.
  template <class Claim, class Attempt>
  conduit::Post post_once(Context& c, uint32_t rank, Claim claim, Attempt attempt,
                          Held held = Held::first);
  int move(Context& c, Call call, uint32_t rank, const Piece& piece, Deadline deadline);
  int post_piece(Context& c, Call call, uint32_t rank, const Piece& piece, Deadline deadline,
                 bool* pending);
  conduit::Post post_data(Context& c, Slot& slot, Call call, uint32_t rank, const Piece& piece);
  conduit::Post post_signal(Context& c, Slot& slot, uint32_t rank, const Signal& record);
  conduit::Post post_put_signal(Context& c, Slot& slot, uint32_t rank, const Piece& piece,
                                const Signal& record, bool* signalled);
  [[nodiscard]] conduit::Post may_signal(Context& c, uint32_t rank);
  void note_data(Context& c, Slot& slot, uint32_t rank, const conduit::Post& result);
  void note_signal(Context& c, Slot& slot, uint32_t rank);
  void note_first(Context& c, bool data);
  void cache_route(Context& c, Slot& slot, uint32_t rank, Outstanding& mine);

  // Long puts (stripes.cpp).
  struct MultirailPut;
  [[nodiscard]] bool is_long(std::size_t length, Deadline deadline) const {
    return length >= long_put_ && !deadline.finite();
  }
  int put_long(Context& c, uint32_t rank, const Piece& piece);
  int advance(Context& c, MultirailPut& put, bool* again);
  bool drive(Context& c, Slot& slot, MultirailPut& put, uint64_t* ticket);
  void post_segments(Slot& slot, MultirailPut& put, uint64_t* ticket);
  [[nodiscard]] conduit::Post look_at_strays(Context& c, uint32_t rank);
  int await_strays(Context& c, Call call, Deadline deadline);

  // Held puts (coalesced_put.cpp).
  friend class FastPath;
  int hold(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
           Deadline deadline);
  int post_held(Context& c, Call call, Deadline deadline);
  conduit::Post try_held(Context& c);
  conduit::Post send_held_on(Context& c, Slot& slot, const Signal* record);
  conduit::Post note_lost(Context& c, int code);
  struct Taken {
    CoalescedPut* held;
    uint32_t slot;  // where it was sent
  };
  std::vector<Taken> take_all_held(Context& c, int* code);
  int await_order(Context& c, uint32_t rank, Deadline deadline);
  int await_source(Context& c, uint32_t rank, Call call, Deadline deadline);
  // A signal that goes out by itself, as soon as it may.
  bool may_defer(Slot& slot, uint32_t rank);
  void defer(Context& c, Slot& slot, uint32_t rank, const Signal& record);
  bool send_deferred(Slot& slot, uint32_t rank);
  void note_pending_reply(Slot& slot, uint32_t rank);
  // The first message of a piece, tried once by `attempt`; if it went out the rest follows, whatever the time.
  template <class Attempt>
  int post_once_then_rest(Context& c, Call call, uint32_t rank, const Piece& piece, Attempt attempt,
                          bool* pending);
  // What a handle is to know of the context's last data operation.
  static void fill(Handle* handle, Pending::Kind kind, uint32_t rank, const Outstanding& mine);
  int answer_of(uint64_t token, uint64_t* before);
  void ask_for(Context& c, Handle& handle);
  // OMPL_OK, or the endpoint's failure, recorded with its reason and said.
  int failure_of(const conduit::Endpoint& endpoint, uint32_t rank) const;
  // `code`, that a call is about to report; a line in the log says why.
  int said(uint32_t rank, int code) const;
  // OMPL_OK, or why no answer of `rank` to what went out on `slot` can come any more.
  int fate(const Slot& slot, uint32_t rank) const;

  // Records go out only with a credit of the target's slot [4].
  static constexpr conduit::Post kNoCredit{.state = conduit::Post::State::retry,
                                           .reason = conduit::Post::Reason::queue_full};
  std::atomic<uint32_t>& credit_count(Slot& slot, uint32_t rank);
  bool take_credit(Slot& slot, uint32_t rank);
  void give_credit(Slot& slot, uint32_t rank);
  conduit::Post send_record(Slot& slot, uint32_t rank, const Signal& record);

  // Flush and quiet: ask the slots concerned, then await the answers.
  int complete(Context& c, Call call, bool signals_too, Deadline deadline);
  conduit::Post ask(Slot& slot, uint32_t rank);
  int ask_slots(Context& c, uint32_t rank, uint64_t slots, std::vector<Mark>* marks, Call call,
                Deadline deadline);
  int await_data(Context& c, uint32_t rank, uint32_t slot, uint64_t ticket, Call call,
                 Deadline deadline);
  int await_marks(Context& c, const std::vector<Mark>& marks, Call call, Deadline deadline);
  [[nodiscard]] int completion_status(uint32_t slot, uint32_t rank, uint64_t ticket) const;

  Runtime& runtime_;
  conduit::Conduit& conduit_;
  const conduit::Capabilities capabilities_;
  const std::size_t hold_limit_;
  const std::size_t long_put_;  // bytes from which a put goes in segments
  std::vector<Slot> slots_;
  std::vector<Pool> pools_;
  Fetches fetches_;
  const std::atomic<uint32_t>* sentinel_;
  int epoll_fd_ = -1;
  bool all_have_descriptors_ = false;
};

inline bool Network::try_claim(Slot& slot) {
  return !slot.claimed.load(std::memory_order_seq_cst) &&
         !slot.claimed.exchange(true, std::memory_order_seq_cst);
}

template <class Claim, class Attempt>
conduit::Post Network::post_once(Context& c, uint32_t rank, Claim claim, Attempt attempt, Held held) {
  using conduit::Post;
  if (c.held.any() && (held == Held::first || c.held.rank != rank)) {
    const bool same = c.held.rank == rank;
    const Post sent = try_held(c);
    if (sent.state == Post::State::retry || (sent.state == Post::State::failed && same)) return sent;
  }
  Post result{.state = Post::State::retry, .reason = Post::Reason::busy};
  if (Slot* slot = claim(); slot != nullptr) {
    const auto look = [&] {
      const int broken = failure_of(*slot->endpoint, rank);
      return broken == OMPL_OK ? attempt(*slot) : Post{.state = Post::State::failed, .code = broken};
    };
    result = look();
    // What this turn finds nobody will find again, and it may be all that the post, or others that sleep, waited for.
    const bool found = result.state == Post::State::retry && turn(*slot) > 0;
    if (found) result = look();
    release(*slot);
    if (found) wake_completions();
  }
  if (result.state == Post::State::retry) ++c.statistics.retries;
  return result;
}

}  // namespace ompl
