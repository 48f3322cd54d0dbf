// SPDX-License-Identifier: BSD-3-Clause
// The connections of one endpoint: made on first use, broken once and for all.
//
// A pair of endpoints has one connection for both directions. When both sides ask for it at once the
// lower rank's request wins [12]. Pools of different sizes also bring in connections that this side
// never sends on. A request carries the job's secret; without it the listener refuses.
//
// A connection that ends after a goodbye is a rank that left. If one ends without, the other side is
// probed by a request: it refuses, then the connection broke; nobody listens, then the rank is dead.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "conduit/completion_window.hpp"
#include "conduit/ofi/address.hpp"
#include "conduit/ofi/resources.hpp"
#include "conduit/ofi/wire.hpp"
#include "omnipgas/ompl.h"

namespace ompl::conduit::ofi {

// The time in milliseconds: coarse, but no system call.
int64_t now_ms();

// What all endpoints of a rank share, unchanging while they live.
struct Site {
  const Library* library = nullptr;
  const Job* job = nullptr;
  fi_info* info = nullptr;                      // choose_provider()'s
  const std::vector<Address>* peers = nullptr;  // by rank; without slots if another conduit reaches it
};

// One connection. Changed under the claim only; what other threads read is atomic.
struct Link {
  Link(uint32_t to_rank, uint32_t to_slot) : rank(to_rank), slot(to_slot) {}

  // Sends whose data the provider copies have no completion of their own; the provider would queue them
  // without limit. Every kMarkEvery-th has one, and at most kMaxCopied are ahead of the last one seen.
  static constexpr uint32_t kMarkEvery = 64;
  static constexpr uint32_t kMaxCopied = 4 * kMarkEvery;
  [[nodiscard]] bool may_copy() const { return copied - confirmed < kMaxCopied; }
  [[nodiscard]] bool mark_is_due() const { return (copied + 1) % kMarkEvery == 0; }

  const uint32_t rank;
  const uint32_t slot;      // the other side's
  Fid<fid_ep> endpoint;     // accepted, or our request was
  Fid<fid_ep> request;      // ours, not answered yet
  bool up = false;          // `endpoint` can be used
  bool waiting = false;     // an answer to `request`, or `endpoint`'s completion, is to come
  bool probing = false;     // `request` only asks whether the other side lives,
  int64_t probe_until = 0;  // until this time (ms)
  bool goodbye = false;     // the other side said that it leaves
  std::atomic<int> failure{OMPL_OK};
  std::string why;  // of the failure
  CompletionWindow<> window;
  uint32_t copied = 0;     // sends whose data the provider copied,
  uint32_t confirmed = 0;  // and how many of them have left it
};

class Connections {
 public:
  Connections(const Site& site, const Resources& resources, uint32_t slot);

  // The connection to `rank` if one was ever begun, else null. Any thread.
  [[nodiscard]] const Link* find(uint32_t rank) const {
    return links_[rank].load(std::memory_order_acquire);
  }

  // The connection to `rank`; asks for it if there is none. Look at `failure` and `up`.
  Link& use(uint32_t rank);

  // Takes in what happened to connections. Returns how many events there were.
  int progress();

  // Whether somebody waits for progress().
  [[nodiscard]] bool connecting() const { return waiting_ > 0; }

  // The connection does not work any more. Nothing is sent on it again [18]; failure() will say why.
  void lost(Link& link, std::string_view why);

  // Endpoint `slot` of `rank` will close its connection to this one in order.
  void said_goodbye(uint32_t rank, uint64_t slot);

  // Calls `function` with every link that is up.
  template <class Function>
  void for_each_up(Function&& function) {
    for (const auto& link : owned_) {
      if (link->up) function(*link);
    }
  }
  // Ends all connections.
  void close() { owned_.clear(); }

  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] uint32_t target_slot(uint32_t rank) const;
  Link& add(uint32_t rank, uint32_t slot);
  void request(Link& link);
  bool admit(std::string_view data, Greeting* greeting) const;
  Link* admissible(const Greeting& greeting, Refusal* refusal);
  void requested(fi_info* request, std::string_view data);
  bool accept(Link& link, fi_info* request);
  void connected(fid* endpoint);
  void ended(fid* endpoint, int error, Refusal refusal);
  void fail(Link& link, int code, std::string_view why);
  void end_probes();
  void recount(Link& link);

  const Site& site_;
  const Resources& resources_;
  const uint32_t slot_;
  std::vector<std::atomic<Link*>> links_;     // by rank: those this side sends on
  std::vector<std::unique_ptr<Link>> owned_;  // those, and the ones only the other side sends on
  std::atomic<uint32_t> up_{0};
  int waiting_ = 0;  // links
  int probes_ = 0;
};

}  // namespace ompl::conduit::ofi
