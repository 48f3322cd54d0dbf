// SPDX-License-Identifier: BSD-3-Clause
// One connection of an endpoint: a queue pair, and what is outstanding on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "conduit/common/link_table.hpp"
#include "conduit/common/route_search.hpp"
#include "conduit/verbs/resources.hpp"
#include "omnipgas/ompl.h"

namespace ompl::conduit::verbs {

// What a request holds until it is complete. A queue pair completes its requests in their order.
struct InFlightResources {
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kNoBounce = UINT32_MAX;
  static constexpr int kNoPlace = -1;
  uint32_t bounce = kNoBounce;
  uint32_t length = 0;
  void* target = nullptr;    // of a get through the bounce slot
  ibv_mr* memory = nullptr;  // registered for this request
  int place = kNoPlace;      // the key at that place of the table is being fetched into the bounce slot
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

// The key of a peer's local memory in one piece of its segment, and the offsets that it is for. Old ones stay good, but may be
// for less than is there now.
struct PeerLocalKey {
  enum class State : uint8_t { unknown, asked, fresh, known };  // fresh: just come
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t key = 0;
  State state = State::unknown;

  [[nodiscard]] bool covers(uint64_t offset, std::size_t length) const {
    return begin <= offset && offset < end && length <= end - offset;
  }
};

// What the requests of an endpoint hold, each link's in a list of its own.
class InFlightPool {
 public:
  InFlightPool() { all_.reserve(kOutstanding); }

  void keep(struct QueuePairLink& link, uint64_t number, const InFlightResources& in_flight);
  // The first of the link up to that number; false if there is none.
  bool take(QueuePairLink& link, uint64_t up_to, InFlightResources* out);

 private:
  std::vector<InFlightResources> all_;
  uint32_t free_ = InFlightResources::kNone;
};

// Changed under the claim only; what other threads read is atomic.
struct QueuePairLink : LinkState {
  QueuePairLink(uint32_t to_rank, uint32_t to_slot, uint32_t place)
      : LinkState(to_rank), slot(to_slot), number(uint64_t{place} << kTicketBits) {}

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
  [[nodiscard]] bool sends() const { return state == State::up && !departed; }
  [[nodiscard]] uint64_t outstanding() const { return posted - reaped; }
  [[nodiscard]] uint64_t completed() const { return done.load(std::memory_order_seq_cst); }

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
  PeerProbe probe;

  // Requests are numbered from 1; the number is the ticket.
  uint64_t limit = 0;  // of what may be posted now on its own queue pair; 0 unless it sends and has one
  uint64_t posted = 0;
  uint64_t reaped = 0;            // their completions were seen, what they used is given back
  std::atomic<uint64_t> done{0};  // reaped, or given up
  uint64_t arrivals = 0;          // records
  uint64_t last_heartbeat = 0;    // posted + arrivals at the last heartbeat,
  uint64_t last_reaped = 0;       // and reaped
  int64_t heard = 0;              // when the other side was last known to live (ms); while it stalls
  uint32_t first_in_flight = InFlightResources::kNone, last_in_flight = InFlightResources::kNone;
  std::vector<PeerKey> keys;                    // by place of the region
  std::map<uint64_t, PeerLocalKey> local_keys;  // by piece of the segment
  int region = 0;                               // of the last put or get, a hint
  Aim aim;
};

inline void InFlightPool::keep(QueuePairLink& link, uint64_t number,
                               const InFlightResources& in_flight) {
  uint32_t place = free_;
  if (place == InFlightResources::kNone) {
    place = static_cast<uint32_t>(all_.size());
    all_.emplace_back();
  } else {
    free_ = all_[place].next;
  }
  all_[place] = in_flight;
  all_[place].number = number;
  (link.first_in_flight == InFlightResources::kNone ? link.first_in_flight
                                                    : all_[link.last_in_flight].next) = place;
  link.last_in_flight = place;
}

inline bool InFlightPool::take(QueuePairLink& link, uint64_t up_to, InFlightResources* out) {
  const uint32_t place = link.first_in_flight;
  if (place == InFlightResources::kNone || all_[place].number > up_to) return false;
  *out = all_[place];
  link.first_in_flight = out->next;
  all_[place].next = free_;
  free_ = place;
  return true;
}

}  // namespace ompl::conduit::verbs
