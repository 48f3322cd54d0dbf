// SPDX-License-Identifier: BSD-3-Clause
// Calls to other ranks: the ring that this rank has at each rank that it calls, and how a call is written there. A ring is
// taken at the first call, by a compare-and-swap at the target. Protocol rule 26.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "core/calls/layout.hpp"
#include "core/data/handle.hpp"
#include "core/job/context.hpp"
#include "util/sparse_table.hpp"

namespace ompl::calls {

// Nothing was sent: try again.
inline bool is_retry(int code) { return code >= OMPL_RETRY_FULL; }

// A call as it is sent. `payload`: null if there is none, or it was put before through the same context.
struct Request {
  uint32_t rank;
  CallEntry entry;
  std::span<const std::byte> arguments;
  const void* payload = nullptr;
  bool ring_only = false;  // OMPL_ERR_MEMORY, which is not reported, if there is no ring for it
};

// Whether nothing of a rank that died can come in any more.
bool nothing_can_come(Runtime& runtime, uint32_t dead);

class OutgoingCalls {
 public:
  // `begin`: offset of the memory of remote calls, in every segment.
  OutgoingCalls(Runtime& runtime, const Layout& layout, uint64_t begin);

  // OMPL_OK (sent), OMPL_RETRY_* (nothing was sent), or an error. Does not wait; one with a payload over a network may wait for
  // room after that was posted. Any thread.
  // `end`, unless null: receives how many slots of that rank's ring are used then, modulo 2^32.
  int try_send(Context& c, const Request& call, uint32_t* end = nullptr);
  // Whether that rank has read all whose reading it tells at once.
  [[nodiscard]] bool all_told(uint32_t rank) const;
  // How many slots that rank has read.
  [[nodiscard]] const std::atomic<uint32_t>& taken(uint32_t rank) const;

 private:
  // To one rank. `head`: slots used so far, modulo 2^32. Over a network whoever has the lock writes, into a shadow of the
  // ring from which the network reads: a slot of it is written again only once the target has read the call.
  struct Route {
    std::atomic<bool> open{false};
    bool without_ring =
        false;  // all are taken: calls lie in the outbox, one at a time, and the target is told by a bell
    // Held for a few steps, and for as long as the network takes to make room for the entry of a payload that was posted.
    std::atomic<bool> locked{false};
    std::atomic<uint32_t> head{0};
    std::atomic<bool> tells{false};        // some entry asked to be told of at once; the last one
    std::atomic<uint32_t> tells_until{0};  // ends here
    uint32_t ring = 0;
    uint32_t asked = 0;  // rings found taken so far
    std::unique_ptr<std::byte[]> shadow;
    Handle question{};
    uint32_t owner = 0;  // of the ring asked for
  };

  int open(Context& c, uint32_t rank, Route& route);
  int ask(Context& c, uint32_t rank, Route& route);
  [[nodiscard]] uint32_t ring_asked(const Route& route) const;
  [[nodiscard]] bool has_room(uint32_t rank, uint32_t head, uint32_t slots) const;
  int write(Context& c, const Request& call, Route& route, uint32_t* end);
  int post(Context& c, const Request& call, Route& route, uint32_t* end);
  // What is written for a target to fetch. `end`: of all calls there, with this one.
  struct Place {
    bool used = false;
    uint32_t rank = 0;
    uint32_t end = 0;
  };
  int take_place(uint32_t rank, uint32_t end, uint32_t* taken_place);
  int leave_in_outbox(Context& c, const Request& call, Route& route);
  int ring_bell(Context& c, const Request& call, uint32_t value);
  int insist(Context& c, const Request& call, const void* image, std::size_t length, uint32_t slot,
             const Route& route);
  int post_entry(Context& c, const Request& call, const void* image, std::size_t length, uint32_t slot,
                 const Route& route);

  Runtime& runtime_;
  const Layout& layout_;
  const uint64_t begin_;
  std::byte* const own_;       // where that memory begins in the own segment
  SparseTable<Route> routes_;  // by rank; made at the first call
  std::mutex outbox_mutex_;
  std::array<Place, kOutbox> outbox_{};  // under the mutex
};

}  // namespace ompl::calls
