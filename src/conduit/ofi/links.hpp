// SPDX-License-Identifier: BSD-3-Clause
// What one endpoint knows of the endpoints it talks to: made on first use, broken once and for all. How a
// link comes up, and how its end is seen, is the business of two sisters: msg_peers.hpp and rdm_peers.hpp.
//
// A pair of endpoints has one link for both directions. Pools of different sizes also bring in links that
// this side never sends on. A link that ends after a goodbye is a rank that left.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/common/completion_window.hpp"
#include "conduit/common/doorkeeper.hpp"
#include "conduit/common/link_table.hpp"
#include "conduit/common/losses.hpp"
#include "conduit/common/operations.hpp"
#include "conduit/common/route_search.hpp"
#include "conduit/ofi/address.hpp"
#include "conduit/ofi/resources.hpp"
#include "conduit/ofi/wire.hpp"
#include "omnipgas/ompl.h"

namespace ompl::conduit::ofi {

class RegisteredRanges;

// What all endpoints of a rank share, unchanging while they live.
struct SharedState {
  const Library* library = nullptr;
  const Job* job = nullptr;
  const ProviderChoice* choice = nullptr;
  const std::vector<Address>* peers = nullptr;  // by rank; without slots if another conduit reaches it
  uint64_t challenge = 0;                       // that this process has published
  uint64_t network = 0;                         // see HostAddresses
  bool mapped = false;                          // sockets are of IPv6, which speak IPv4 too
  int64_t connect_timeout_ms = 0;
  const RegisteredRanges* regions = nullptr;  // of ompl_register()
};

// Changed under the claim only; what other threads read is atomic.
struct FabricLink : LinkState {
  FabricLink(uint32_t to_rank, uint32_t to_slot, uint32_t its_place)
      : LinkState(to_rank), slot(to_slot), place(its_place) {}

  // Sends whose data the provider copies have no completion of their own; the provider would queue them
  // without limit. Every kMarkEvery-th has one, and at most kMaxCopied are ahead of the last one seen.
  static constexpr uint32_t kMarkEvery = 64;
  static constexpr uint32_t kMaxCopied = 4 * kMarkEvery;
  [[nodiscard]] bool may_copy() const { return copied - confirmed < kMaxCopied; }
  [[nodiscard]] bool mark_is_due() const { return (copied + 1) % kMarkEvery == 0; }

  [[nodiscard]] bool sends() const { return up && !departed; }
  [[nodiscard]] uint64_t completed() const { return window.completed(); }

  const uint32_t slot;                 // the other side's
  const uint32_t place;                // in the list of links
  fid_ep* endpoint = nullptr;          // to post on,
  fi_addr_t address = FI_ADDR_UNSPEC;  // with this address
  bool up = false;                     // it can be posted on
  bool waiting = false;                // for the other side, to come up
  bool probing = false;                // it ended: does the other side live?
  CompletionWindow<> window;
  uint32_t copied = 0;     // sends whose data the provider copied,
  uint32_t confirmed = 0;  // and how many of them have left it

  // Of MsgPeers
  Fid<fid_ep> connection;   // accepted, or our request was
  Fid<fid_ep> request;      // ours, not answered yet
  Greeting asked;           // what it says
  int64_t probe_until = 0;  // ms
  int64_t ask_again =
      0;  // ms: a request failed for want of an answer, and the next is due then; 0: none is
  int64_t ask_until = 0;                // ms; 0: none has failed
  int64_t pause = 0;                    // ms, between requests
  std::unique_ptr<RouteSearch> search;  // for an address of the other side that takes connections
  bool seeking = false;                 // by it
  std::size_t route = 0;                // the one that has taken one, or the first to try
  bool routed = false;                  // it has just taken one
  bool reached = false;                 // a connection with it has been made, by either side
  int64_t check_at = 0;                 // ms: when a request is looked into that nobody answers

  // The other side has said goodbye, and something is outstanding:
  int64_t look_for_end = 0;  // ms: when to see whether its endpoint is still there
  bool gone = false;         // it is not: what has come from it is taken in,
  int looks_since_gone = 0;  // for as many looks

  // Of RdmPeers
  bool greeted = false;       // our greeting is sent,
  bool known = false;         // theirs is here
  uint32_t their_place = 0;   // what it told
  uint64_t their_cookie = 0;  // of what goes there,
  uint64_t our_cookie = 0;    // and of what comes
  uint16_t written = 0;       // writes and messages there,
  uint16_t sent = 0;
  uint16_t arrived = 0;  // and here
  uint16_t heard = 0;
  bool untold = false;      // it failed, and the other side is to know
  bool spoke = false;       // more than a greeting came
  bool lively = false;      // something came since the last look, which was at
  int64_t looked_at = 0;    // ms
  int64_t asked_since = 0;  // ms: its kernel
  int unanswered = 0;       // looks since anything came, up to a few
};

class FabricLinks {
 public:
  // `least`: bytes that whoever is of the job says before anything is awaited of it.
  FabricLinks(const SharedState& shared, const Resources& resources, uint32_t slot, uint64_t least);
  virtual ~FabricLinks() = default;
  FabricLinks(const FabricLinks&) = delete;
  FabricLinks& operator=(const FabricLinks&) = delete;

  // Any thread.
  [[nodiscard]] const FabricLink* find(uint32_t rank) const { return links_.find(rank); }

  // The link to `rank`; begins it if there is none. Look at `failure` and `up`.
  FabricLink& use(uint32_t rank) {
    FabricLink* const link = links_.known(rank);
    return link != nullptr && link->up ? *link : prepare(rank);
  }

  // Takes in what happened to links. Returns how many events there were. Throws nothing.
  virtual int progress() = 0;

  // This endpoint's listener has that TCP port.
  void listens_at(uint16_t port) { door_.guard(port); }

  // The link does not work any more. Nothing is sent on it again [18]; failure() will say why.
  virtual void lost(FabricLink& link, std::string_view why) = 0;

  // Whether somebody waits for progress().
  [[nodiscard]] bool connecting() const { return waiting_ > 0; }
  // Or waits for something of which no descriptor tells.
  [[nodiscard]] bool is_seeking() const {
    return connecting() && std::ranges::any_of(all(), [](const auto& link) { return link->seeking; });
  }

  // Endpoint `slot` of `rank` will close its end in order.
  void said_goodbye(uint32_t rank, uint64_t slot);
  // An operation on the link that used a caller's memory is complete.
  void note_complete(FabricLink& link) {
    if (link.departed && link.failure == OMPL_OK && link.window.outstanding() == 0) part_from(link);
  }

  // Calls `function` with every link that is up.
  template <class Function>
  void for_each_up(Function&& function) {
    for (const auto& link : all()) {
      if (link->up) function(*link);
    }
  }
  // Ends all.
  void close() { links_.clear(); }

  // Breaks of those that only the other side sends on. Any thread.
  [[nodiscard]] const Losses& losses() const { return losses_; }
  [[nodiscard]] std::string describe() const;

 protected:
  // Asks the other side: `link` is neither up nor waiting nor failed.
  virtual void begin(FabricLink& link) = 0;
  static constexpr int64_t kPartMs = 1000;  // its endpoint is gone long before
  static constexpr int kLooksAtGone = 10;

  // The other side has said goodbye: makes the provider let go of what is outstanding. If it cannot, that is waited for
  // until its endpoint is gone and what came from it has been taken in: some providers tell nothing of what they have
  // lost. Looks are counted, for time may pass while no thread of this rank runs.
  virtual void end_outstanding(FabricLink& link) = 0;
  void look_at_gone();

  // Whether it speaks of this endpoint and one of another rank; is_admissible(): and proves that it is from there.
  [[nodiscard]] bool is_for_us(const Greeting& greeting) const;
  [[nodiscard]] bool is_admissible(const Greeting& greeting) const;
  // Not signed yet.
  [[nodiscard]] Greeting greeting_for(const FabricLink& link) const;
  void sign(const FabricLink& link, Greeting* greeting) const {
    greeting->sign(link.rank, shared_.job->secret);
  }
  // Warns of the first stranger, and then of the second, the fourth, the eighth ...
  template <class Text>
  void warn_of_stranger(Text&& text) {
    if (std::has_single_bit(++strangers_)) text(strangers_);
  }
  // The link that the other side's greeting is about, new if need be.
  FabricLink& link_of(const Greeting& greeting);
  void came_up(FabricLink& link);
  // Nothing can be posted on it any more; what that means is not known yet.
  void take_down(FabricLink& link, std::string_view why);
  void set_waiting(FabricLink& link, bool waiting);
  // The end of the link, which needs no memory.
  void fail(FabricLink& link, int code, std::string_view why) noexcept;
  [[nodiscard]] const std::vector<std::unique_ptr<FabricLink>>& all() const { return links_.all(); }

  const SharedState& shared_;
  const Resources& resources_;
  const uint32_t slot_;
  int probes_ = 0;  // links
  Doorkeeper door_;

 private:
  [[nodiscard]] uint32_t target_slot(uint32_t rank) const;
  void part_from(FabricLink& link);
  FabricLink& add(uint32_t rank, uint32_t slot);
  FabricLink& prepare(uint32_t rank);

  LinkTable<FabricLink> links_;
  Losses losses_;
  std::atomic<uint32_t> up_{0};
  int waiting_ = 0;  // links
  uint64_t strangers_ = 0;
};

// The context of a request to libfabric.
struct FabricOperation {
  fi_context2 scratch;  // the provider's while the request is under way (FI_CONTEXT, FI_CONTEXT2)
  FabricLink* link = nullptr;
  uint64_t ticket = 0;          // 0: data were copied, and
  uint32_t mark = 0;            // this many sends of the link have left once it completes
  std::byte* bounce = nullptr;  // room for data that the provider does not copy
  Fid<fid_mr> registration;     // made for this operation
  FabricOperation* next = nullptr;
};

class FabricOperationPool final : public conduit::OperationPool<FabricOperation> {
 public:
  void give_back(FabricOperation* operation) {
    operation->registration.reset();
    conduit::OperationPool<FabricOperation>::give_back(operation);
  }
  // Gives each its part of kCount * `size` bytes.
  void hand_out(std::byte* memory, std::size_t size) {
    for (FabricOperation& operation : all_) {
      operation.bounce = memory;
      memory += size;
    }
  }
};

}  // namespace ompl::conduit::ofi
