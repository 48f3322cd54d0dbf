// SPDX-License-Identifier: BSD-3-Clause
// One connection of an endpoint: a queue pair, and what is outstanding on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "conduit/common/liveness_probe.hpp"
#include "conduit/verbs/resources.hpp"
#include "omnipgas/ompl.h"

namespace ompl::conduit::verbs {

// What a request holds until it is complete. A queue pair completes its requests in their order.
struct Held {
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kNoBounce = UINT32_MAX;
  static constexpr int kNoPlace = -1;
  uint32_t bounce = kNoBounce;
  uint32_t length = 0;
  void* target = nullptr;    // of a get through the bounce slot
  ibv_mr* memory = nullptr;  // registered for this request
  int place = kNoPlace;      // the key of that region is being fetched into the bounce slot
  uint64_t number = 0;       // of the request
  uint32_t next = kNone;     // of its link

  [[nodiscard]] bool any() const { return bounce != kNoBounce || memory != nullptr; }
};

// The key of a peer's allocation.
struct PeerKey {
  enum class State : uint8_t { unknown, asked, known };
  uint32_t generation = 0;  // of the region, as this rank counts
  uint32_t key = 0;
  State state = State::unknown;
};

// What the requests of an endpoint hold, each link's in a list of its own.
class HeldPool {
 public:
  HeldPool() { all_.reserve(kOutstanding); }

  void keep(struct Link& link, uint64_t number, const Held& held);
  // The first of the link up to that number; false if there is none.
  bool take(Link& link, uint64_t up_to, Held* out);

 private:
  std::vector<Held> all_;
  uint32_t free_ = Held::kNone;
};

// Changed under the claim only; what other threads read is atomic.
struct Link {
  Link(uint32_t to_rank, uint32_t to_slot, uint32_t place)
      : rank(to_rank), slot(to_slot), number(uint64_t{place} << kTicketBits) {}

  enum class State : uint8_t {
    idle,
    requested,  // asked for; a reply is to come
    replied,    // asked by the other side, and answered; "ready" is to come
    up,
    doubtful,  // broken; whether the other side lives is being asked
    failed,
  };

  [[nodiscard]] bool waiting() const {
    return state == State::requested || state == State::replied || state == State::doubtful;
  }
  [[nodiscard]] bool sends() const { return state == State::up && !left; }
  [[nodiscard]] uint64_t outstanding() const { return posted - reaped; }

  const uint32_t rank;
  const uint32_t slot;    // the other side's
  const uint64_t number;  // of its requests, without the ticket: its place in the endpoint's list
  State state = State::idle;
  Owned<ibv_qp> pair{nullptr, nullptr};    // RC
  Initiator* initiator = nullptr;          // XRC: to its node; DC: lent to it
  Owned<ibv_qp> target{nullptr, nullptr};  // XRC: of its initiator, here
  uint32_t queue = 0;                      // XRC: number of its shared receive queue
  bool introduced = false;                 // DC: has said who it is
  uint32_t first_packet = 0;               // of ours
  uint32_t partner = 0;                    // the other side's queue pair
  Owned<ibv_ah> path{nullptr, nullptr};    // to the other side: of datagrams while connecting, or DC
  int64_t began = 0;                       // the present state (ms)
  int64_t next = 0;                        // when to send the last datagram again, or to ask again (ms)
  int64_t interval = 0;                    // ms
  PulseProbe probe;
  std::atomic<int> failure{OMPL_OK};
  std::string why;                // of the failure, before which it is set
  std::atomic<bool> left{false};  // the other side said goodbye

  // Requests are numbered from 1; the number is the ticket.
  uint64_t limit = 0;  // of what may be posted now on its own queue pair; 0 unless it sends and has one
  uint64_t posted = 0;
  uint64_t reaped = 0;            // their completions were seen, what they held is given back
  std::atomic<uint64_t> done{0};  // reaped, or given up
  uint64_t arrivals = 0;          // records
  uint64_t last_beat = 0;         // posted + arrivals when the heart last beat,
  uint64_t last_reaped = 0;       // and reaped
  int64_t heard = 0;              // when the other side was last known to live (ms); while it stalls
  uint32_t first_held = Held::kNone, last_held = Held::kNone;
  std::vector<PeerKey> keys;  // by place of the region
  int region = 0;             // of the last put or get, a hint
  Aim aim;
};

inline void HeldPool::keep(Link& link, uint64_t number, const Held& held) {
  uint32_t place = free_;
  if (place == Held::kNone) {
    place = static_cast<uint32_t>(all_.size());
    all_.emplace_back();
  } else {
    free_ = all_[place].next;
  }
  all_[place] = held;
  all_[place].number = number;
  (link.first_held == Held::kNone ? link.first_held : all_[link.last_held].next) = place;
  link.last_held = place;
}

inline bool HeldPool::take(Link& link, uint64_t up_to, Held* out) {
  const uint32_t place = link.first_held;
  if (place == Held::kNone || all_[place].number > up_to) return false;
  *out = all_[place];
  link.first_held = out->next;
  all_[place].next = free_;
  free_ = place;
  return true;
}

}  // namespace ompl::conduit::verbs
