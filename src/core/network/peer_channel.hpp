// SPDX-License-Identifier: BSD-3-Clause
// What one context and one rank have between them over the network: operations whose fate is unknown, where further
// ones go, the put that waits for its signal. One for each rank that the context has used; its table keeps them until
// the runtime ends, for another thread may look at what is held [20].
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/network/coalesced_put.hpp"
#include "core/network/slot.hpp"
#include "omnipgas/ompl.h"

namespace ompl {

class Context;
class EndpointPool;

// Segments of a long put that ended before it knew their fate: up to this ticket. Signals to that rank wait for them.
struct OrphanedSegment {
  uint32_t slot;
  uint64_t ticket;
};

// Used by its context's thread alone, but for `held`.
class PeerChannel {
 public:
  // `short_limit`: bytes of the puts that the fast paths hold.
  constexpr PeerChannel(EndpointPool* pool, uint64_t rank, std::size_t short_limit)
      : pool_(pool), rank_(rank), short_limit_(short_limit) {}

  [[nodiscard]] uint32_t rank() const { return static_cast<uint32_t>(rank_); }
  [[nodiscard]] bool leads_to(uint32_t rank) const { return rank_ == rank; }

  // --- What is outstanding
  [[nodiscard]] bool has_data() const { return has_data_; }
  [[nodiscard]] uint32_t slot() const {
    return slot_->index;
  }  // of the data; of whatever was posted last, if none
  [[nodiscard]] uint64_t ticket() const {
    return ticket_;
  }  // of the last data operation, 0 if it has none
  [[nodiscard]] uint64_t number() const {
    return number_;
  }  // of the same among what slot and rank have been sent
  [[nodiscard]] uint64_t posts() const { return posts_; }  // data operations and signals so far
  [[nodiscard]] uint64_t signalled_slots() const {
    return signalled_slots_;
  }  // bit i: signals went through slot i
  [[nodiscard]] int lost() const {
    return lost_;
  }  // the error in which a held put ended, until it is told
  [[nodiscard]] std::vector<OrphanedSegment>& orphans() { return orphans_; }
  [[nodiscard]] const std::vector<OrphanedSegment>& orphans() const { return orphans_; }

  // Its next operations are on that slot, whose claim the caller holds.
  void go_to(Slot& slot, SlotPeer& peer) {
    slot_ = &slot;
    peer_ = &peer;
    slot_bit_ = uint64_t{1} << slot.index;
  }
  // A data operation was posted there: signals follow it, and quiet_all() covers it. Tickets there only grow.
  void note_data(const conduit::Post& post) {
    ticket_ = std::max(ticket_, post.ticket);
    peer_->last_ticket.store(std::max(peer_->last_ticket.load(std::memory_order_relaxed), post.ticket),
                             std::memory_order_release);
    number_ = ++peer_->sent;
    has_data_ = true;
    ++posts_;
  }
  // A signal was: its acknowledgement has to come through the same slot.
  void note_signal() {
    ++peer_->sent;
    signalled_slots_ |= slot_bit_;
    ++posts_;
  }
  // Both in one request over a conduit with immediate_puts, whose tickets only grow, on the slot where all is.
  template <bool WithData>
  void note_immediate(Context& c, uint64_t ticket) {
    if (WithData) {
      ticket_ = ticket;
      peer_->last_ticket.store(ticket, std::memory_order_release);
    }
    if (!(WithData ? has_data_ : listed_)) [[unlikely]]  // with data it is listed
      note_first(c, WithData);
    ++peer_->sent;
    ++posts_;
    signalled_slots_ |= slot_bit_;
  }
  // A put that was held is lost: each signal to its rank tells that until a flush does too [18].
  void note_lost(int code) {
    lost_ = code;
    ++posts_;
  }
  // The fate of all data is known.
  void data_done() {
    has_data_ = false;
    ticket_ = 0;
  }
  // The same, and told to the user, of all `data` and, with `signals`, everything.
  void all_done(bool signals) {
    data_done();
    lost_ = OMPL_OK;
    if (signals) signalled_slots_ = 0;
  }
  [[nodiscard]] bool idle() const {
    return !has_data_ && lost_ == OMPL_OK && signalled_slots_ == 0 && orphans_.empty() &&
           nothing_packed();
  }

  // --- Packed gets are under way, perhaps: a flush looks. They share what packed puts are found by, so that who has neither pays
  // nothing for them.
  void note_packed_get() {
    if (read_ == nullptr) {
      read_ = &kNothingRead;
      packed_end_ = 0;
    }
    gets_ = true;
    ++posts_;
  }
  // Neither packed puts nor gets.
  [[nodiscard]] bool nothing_packed() const {
    return read_ == nullptr || (!awaits_packed() && read_ == nullptr);
  }

  // --- Packed puts (core/calls/packing.hpp): visible once the target has read this rank's calls up to `end`, which is when
  // `*read` has come so far. Signals to that rank wait for them, but for those of the ring of calls itself.
  void note_packed(const std::atomic<uint32_t>& read, uint32_t end) {
    read_ = &read;
    packed_end_ = end;
    ++posts_;
  }
  [[nodiscard]] bool awaits_packed() const {
    if (read_ == nullptr) return false;
    if (static_cast<int32_t>(read_->load(std::memory_order_seq_cst) - packed_end_) < 0) return true;
    if (!gets_) read_ = nullptr;
    return false;
  }
  [[nodiscard]] bool holds_signals() const { return awaits_packed() && !in_ring_; }
  void forget_packed() {
    read_ = nullptr;
    gets_ = false;
  }
  class InRing {
   public:
    explicit InRing(PeerChannel& channel)
        : channel_(channel), before_(std::exchange(channel.in_ring_, true)) {}
    ~InRing() { channel_.in_ring_ = before_; }
    InRing(const InRing&) = delete;
    InRing& operator=(const InRing&) = delete;

   private:
    PeerChannel& channel_;
    const bool before_;
  };

  // Whether a signal has to follow data that went through here, or wait here.
  [[nodiscard]] bool has_to_be_followed() const { return has_data_ || held.any() || !orphans_.empty(); }

  // --- The put that is held, and whether it is worth it to hold a long one: not if no signal follows.
  CoalescedPut held;
  void saw_put() { holding_pays_ = !std::exchange(put_was_last_, true) && holding_pays_; }
  void saw_signal() { holding_pays_ = std::exchange(put_was_last_, false) || holding_pays_; }
  void saw_flush() { holding_pays_ = !std::exchange(put_was_last_, false) && holding_pays_; }
  [[nodiscard]] bool holding_pays() const { return holding_pays_; }

  // --- The fast paths of ompl_put, ompl_put_word and ompl_put_signal, over a conduit with put_with_immediate(): one
  // comparison for the rank, one check of the address, one claim, one call of the endpoint (data/fast_path.hpp). False:
  // nothing was done; take the slow path, which says why, or waits. `known`: the context, null if the thread has none yet.
  static bool try_put(Context* known, const void* source, uint32_t rank, uint64_t offset,
                      std::size_t length);
  static bool try_signal(Context* known, uint32_t rank, uint64_t flag);
  static bool try_put_signal(Context* known, const void* source, uint32_t rank, uint64_t offset,
                             std::size_t length, uint64_t flag);
  // No orphan, no loss and no packed put, of which the fast paths know nothing.
  [[nodiscard]] bool may_be_fast() const {
    return lost_ == OMPL_OK && orphans_.empty() && !awaits_packed();
  }

 private:
  friend class PeerChannels;
  static PeerChannel* leading(const Context* known, uint32_t rank);
  bool may_hold(const Context& c, uint64_t offset, std::size_t length) const;
  template <bool WithData>
  bool post(Context& c, const void* source, uint64_t offset, std::size_t length, uint64_t flag);
  void note_first(Context& c, bool data);
  bool leave(Context& c, const conduit::Post& refused);

  EndpointPool* const pool_;
  const uint64_t rank_;  // UINT64_MAX: of no rank that a caller may name, not even a wrong one
  const std::size_t short_limit_;
  Slot* slot_ = nullptr;
  SlotPeer* peer_ = nullptr;
  uint64_t slot_bit_ = 0;
  uint64_t ticket_ = 0;
  uint64_t number_ = 0;
  uint64_t posts_ = 0;
  uint64_t signalled_slots_ = 0;
  int lost_ = OMPL_OK;
  bool has_data_ = false;
  bool listed_ = false;  // stands in PeerChannels::touched_, as long as it has data
  bool put_was_last_ = false;
  bool holding_pays_ = true;
  bool in_ring_ = false;  // what is posted now is an entry of the ring of calls
  static inline const std::atomic<uint32_t> kNothingRead{0};
  mutable const std::atomic<uint32_t>* read_ =
      nullptr;  // null: there is no packed put, and no packed get
  uint32_t packed_end_ = 0;
  bool gets_ = false;
  std::vector<OrphanedSegment> orphans_;
};

// The channels of a context.
class PeerChannels {
 public:
  // Null: nothing was ever sent there.
  [[nodiscard]] PeerChannel* find(uint32_t rank) const {
    const auto found = channels_.find(rank);
    return found != channels_.end() ? found->second.get() : nullptr;
  }
  template <class Make>
  PeerChannel& at(uint32_t rank, Make make) {
    std::unique_ptr<PeerChannel>& channel = channels_[rank];
    if (channel == nullptr) {
      if (touched_.capacity() < channels_.size())
        touched_.reserve(2 * channels_.size());  // touch() needs no memory
      channel = make();
    }
    return *channel;
  }
  // Those with something outstanding.
  [[nodiscard]] const std::vector<PeerChannel*>& touched() const { return touched_; }
  void touch(PeerChannel& channel) {
    if (channel.listed_) return;
    channel.listed_ = true;
    touched_.push_back(&channel);
  }
  void drop_idle() {
    std::erase_if(touched_, [](PeerChannel* channel) {
      channel->listed_ = !channel->idle();
      return !channel->listed_;
    });
  }
  // What is outstanding is nobody's any more. What is held stays.
  void forget_outstanding() {
    for (PeerChannel* const channel : touched_) {
      channel->all_done(true);
      channel->orphans_.clear();
      channel->forget_packed();
    }
    drop_idle();
  }

 private:
  std::unordered_map<uint32_t, std::unique_ptr<PeerChannel>> channels_;
  std::vector<PeerChannel*> touched_;
};

}  // namespace ompl
