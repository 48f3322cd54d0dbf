// SPDX-License-Identifier: BSD-3-Clause
// The endpoints of the network conduit: claims, progress, what arrives, what goes back by itself (replies, credits,
// deferred signals), the fate of what was sent. Protocol rules 1-4, 11-13, 16, 18.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conduit/conduit.hpp"
#include "core/job/activity.hpp"
#include "core/memory/segment_header.hpp"
#include "core/network/fetches.hpp"
#include "core/network/slot.hpp"
#include "core/wait/deadline.hpp"

namespace ompl {

class Context;
class Failures;
class Membership;
class Sleepers;

// A rank's endpoints.
struct Pool {
  uint32_t slots = 0;
  uint32_t credits = 0;  // records that each of them takes from each rank at once [4]
};

class EndpointPool {
 public:
  EndpointPool(const Membership& members, Sleepers& sleepers, Failures& failures,
               conduit::Conduit& conduit, uint32_t slots);
  ~EndpointPool();
  EndpointPool(const EndpointPool&) = delete;
  EndpointPool& operator=(const EndpointPool&) = delete;

  // Opens every endpoint. `pools`: of each rank.
  int open(std::vector<Pool> pools);

  [[nodiscard]] const conduit::Conduit& conduit() const { return conduit_; }
  [[nodiscard]] const conduit::Capabilities& capabilities() const { return capabilities_; }
  [[nodiscard]] uint32_t ranks() const { return ranks_; }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(slots_.size()); }
  [[nodiscard]] Slot& slot(uint32_t index) { return slots_[index % slots_.size()]; }
  [[nodiscard]] std::vector<Slot>& slots() { return slots_; }
  // Two threads may ask for the same at once.
  SlotPeer& peer(Slot& slot, uint32_t rank);

  // --- Claims and progress
  // A slot that was claimed, given back at the end of its life, however that comes.
  class Claim {
   public:
    Claim(EndpointPool& pool, Slot& slot) : pool_(pool), slot_(slot) {}
    ~Claim() { pool_.release(slot_); }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

   private:
    EndpointPool& pool_;
    Slot& slot_;
  };
  // Claims for a context, which counts that in vain it was. Who holds the claim makes a Claim at once.
  bool claim(Context& c, Slot& slot);
  void release(Slot& slot) {
    slot.claimed.store(false, std::memory_order_seq_cst);
    if (sentinel_.load(std::memory_order_seq_cst) != SentinelRole::none) [[unlikely]]
      arm_released(slot);
  }
  // Progresses the slot `first`, and now and then one that nobody else progresses. True if anything was found. Any
  // thread.
  bool progress(Context& c, uint32_t first);
  // For a thread that serves others and is not to get in their way: progresses each slot that no other thread has since this context
  // last looked. `busy`: there are other slots.
  struct Tended {
    bool found = false;
    bool busy = false;
  };
  Tended tend(Context& c);
  // One turn of progress on a claimed slot: completions, records, replies. What it found.
  int turn(Slot& slot);
  // Wakes those of this rank who sleep until something completes.
  void wake_completions();
  // A turn has found something, and its thread does not go on with progress: others may have to.
  void hand_on();
  // A wait for the flag has ended: the next one looks first where it came in.
  void note_arrival(Context& c, uint64_t flag);

  // --- Records, on a claimed slot. They go out only with a credit of the target's slot [4].
  static constexpr conduit::Post kNoCredit{.state = conduit::Post::State::retry,
                                           .reason = conduit::Post::Reason::queue_full};
  bool take_credit(Slot& slot, uint32_t rank);
  void give_credit(Slot& slot, uint32_t rank);
  // One taken, if there was one; given back unless it is kept, also by an exception.
  class Credit {
   public:
    Credit(EndpointPool& pool, Slot& slot, uint32_t rank)
        : pool_(pool), slot_(slot), rank_(rank), taken_(pool.take_credit(slot, rank)) {}
    ~Credit() {
      if (taken_ && !kept_) pool_.give_credit(slot_, rank_);
    }
    Credit(const Credit&) = delete;
    Credit& operator=(const Credit&) = delete;
    [[nodiscard]] bool taken() const { return taken_; }
    void keep() { kept_ = true; }

   private:
    EndpointPool& pool_;
    Slot& slot_;
    const uint32_t rank_;
    const bool taken_;
    bool kept_ = false;
  };
  conduit::Post send_record(Slot& slot, uint32_t rank, const Signal& record);
  // A signal that goes out by itself, once the data operations up to that ticket are complete.
  bool may_defer(Slot& slot, uint32_t rank);
  // The place of one, taken before what it follows is posted, so that it needs no memory then; given up unless filled.
  class Deferral {
   public:
    Deferral(EndpointPool& pool, Slot& slot, uint32_t rank)
        : pool_(pool), slot_(slot), rank_(rank), list_(pool.peer(slot, rank).deferred) {
      list_.emplace_back();
    }
    ~Deferral() {
      if (!filled_) list_.pop_back();
    }
    Deferral(const Deferral&) = delete;
    Deferral& operator=(const Deferral&) = delete;
    void fill(const Signal& record, uint64_t ticket) {
      list_.back() = {record, ticket};
      filled_ = true;
      pool_.peer(slot_, rank_).used.store(true);
      pool_.note_pending_reply(slot_, rank_);
    }

   private:
    EndpointPool& pool_;
    Slot& slot_;
    const uint32_t rank_;
    std::deque<SlotPeer::Deferred>& list_;
    bool filled_ = false;
  };
  // An ack_request for all that went out there before.
  conduit::Post ask(Slot& slot, uint32_t rank);
  // Replies that are awaited.
  [[nodiscard]] Fetches& fetches() { return fetches_; }

  // --- Fate
  // Whether a slot's data operations to `rank` up to `ticket` are complete as the conduit means it: 1, 0, or the error
  // that they ended in.
  [[nodiscard]] int completion_status(uint32_t slot, uint32_t rank, uint64_t ticket) const;
  // Until they are. Their buffers are in use until then, or until their own connection fails, whatever others do.
  int await(Context& c, uint32_t rank, uint32_t slot, uint64_t ticket, Call call, Deadline deadline,
            bool keeps_thread = false);
  // OMPL_OK, or why no answer of `rank` to what went out on `slot` can come any more.
  int fate(const Slot& slot, uint32_t rank) const;
  // OMPL_OK, or the endpoint's failure, recorded with its reason and said.
  int failure_of(const conduit::Endpoint& endpoint, uint32_t rank) const;
  // The same of what is known of the rank, whatever its endpoints have seen.
  int known_failure(uint32_t rank) const;
  // What a call is to report of an endpoint's failure `code`; a line in the log says why. A rank that has left the job with an error
  // is dead.
  int said(uint32_t rank, int code) const;
  // Ranks to or from which some endpoint has lost something for good, or that have closed theirs before this rank came to
  // the job's last barrier. Looks at `count` ranks from `first` on.
  struct Broken {
    uint32_t rank;
    int code;   // OMPL_ERR_PEER if any says so, else OMPL_ERR_LINK
    bool left;  // it has closed its endpoints
    std::string why;
  };
  [[nodiscard]] std::vector<Broken> broken_peers(uint32_t first, uint32_t count) const;
  // Whether the rank has closed its endpoints in order.
  [[nodiscard]] bool departed(uint32_t rank) const;

  // --- Descriptors. A program may close some that are not its own; without them nothing arrives any more, and no connection
  // tells that it broke. Whether all are still there: looked at now and then. Any thread.
  [[nodiscard]] bool is_sound() const;
  // Nothing is sent, received or awaited over the network any more: all that is outstanding has failed with OMPL_ERR_LINK.
  void sever();
  [[nodiscard]] bool is_severed() const { return is_severed_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::string_view why_severed() const {
    return overwhelmed_.load()
               ? "there was no memory for what came over the network, and some of it is lost"
               : "the descriptors of the layer's network are gone: the program closed some that were "
                 "not "
                 "its own";
  }

  // --- News of failures (rule 23): to the ranks given, by whoever progresses slot 0. Any thread.
  void tell(const Signal& news, std::span<const uint32_t> ranks);
  // All of it has been sent, or cannot be.
  [[nodiscard]] bool all_told();

  // --- Sleep
  // For the sentinel: arms every endpoint that can be claimed (the holders of the others arm theirs on
  // release). False: there is work, do not sleep.
  bool arm_all();
  // Polls readable when an armed endpoint has work, or the pipe was written.
  [[nodiscard]] int epoll_fd() const { return epoll_fd_; }
  // Every endpoint has a descriptor; if not, sleeps must be short.
  [[nodiscard]] bool can_sleep() const { return all_have_descriptors_; }

  [[nodiscard]] std::string describe() const;

 private:
  class Inbox;
  void arm_released(Slot& slot) noexcept;
  static bool try_arm(Slot& slot);
  // A turn of progress, with what it found; false if the slot is claimed. The other: only if nobody had a turn on it since
  // this context last looked.
  bool visit(Slot& slot, bool* found);
  void visit_neglected(Context& c, uint32_t index, bool* found);
  void receive(Slot& slot, uint32_t source, const Signal& record);
  void carry_out(Slot& slot, uint32_t source, const Signal& record);
  void postpone(Slot& slot, uint32_t source, const Signal& record) noexcept;
  bool catch_up(Slot& slot);
  static conduit::Post send_reply(Slot& slot, uint32_t rank, const Signal& record);
  void note_pending_reply(Slot& slot, uint32_t rank);
  void flush_replies(Slot& slot);
  bool flush_reply(Slot& slot, uint32_t rank);
  bool replies_due(Slot& slot);
  bool send_deferred(Slot& slot, uint32_t rank);
  void take_up_news(Slot& slot);
  void note_work();
  [[nodiscard]] int severed() const;
  std::atomic<uint32_t>& credit_count(Slot& slot, uint32_t rank);

  const uint32_t ranks_;  // of the job
  const uint32_t rank_;
  Sleepers& sleepers_;
  Failures& failures_;
  conduit::Conduit& conduit_;
  const conduit::Capabilities capabilities_;
  std::vector<Slot> slots_;
  std::vector<Pool> pools_;
  Fetches fetches_;
  std::mutex news_mutex_;
  std::vector<std::pair<uint32_t, Signal>> news_;  // to be told, and to whom
  std::atomic<bool> has_news_{false};              // or postponed records, or severed
  std::atomic<uint32_t> postponing_{0};            // slots
  std::atomic<bool> overwhelmed_{false};           // a record was lost for want of memory
  std::atomic<bool> is_severed_{false};
  std::atomic<SentinelRole>& sentinel_;
  int epoll_fd_ = -1;
  bool all_have_descriptors_ = false;
};

}  // namespace ompl
