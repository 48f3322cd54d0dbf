// SPDX-License-Identifier: BSD-3-Clause
// Calls of other ranks: their rings in the own segment, and running what has come. Protocol rule 26.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "core/calls/function_context.hpp"
#include "core/calls/functions.hpp"
#include "core/calls/layout.hpp"
#include "core/calls/outgoing.hpp"
#include "core/calls/packing.hpp"
#include "util/sparse_table.hpp"

namespace ompl::calls {

// Gives the calling thread another implicit context, and returns the one it had.
using ExchangeContext = Context* (*)(Context*);

class IncomingCalls {
 public:
  IncomingCalls(Runtime& runtime, const Layout& layout, uint64_t begin, FunctionTable& functions,
                FunctionContexts& contexts, Packing& packing, std::atomic<uint32_t>& unsettled);

  // --- Any thread
  // Runs what has come, a bounded number of calls of each ring, and sends what functions have left. Whether there was anything.
  // `uncancelled`: the thread cannot be cancelled as it is.
  bool run(ExchangeContext exchange, bool uncancelled);
  // For a sleeper's last look: takes the marks away. Whether some call has come [15].
  bool any_at_last();
  // Gives the rings of dead ranks back, once what had come was run. False: look again later.
  bool give_back_rings_of_dead(ExchangeContext exchange);

 private:
  // Whoever has made it busy uses it, but for the atomics. `next`: slots read so far, modulo 2^32.
  struct Ring {
    std::atomic<bool> busy{false};    // one thread at a time, so that calls run in order
    std::atomic<bool> waits{false};   // for a reply to go out
    std::atomic<bool> broken{false};  // no call can be found in it any more
    std::atomic<uint32_t> next{0};
    std::unique_ptr<std::atomic<uint32_t>[]> seen;  // of each slot: entries that began there
    uint32_t told = 0;                              // of `next`, by the caller's count
    bool owing = false;                             // more is to be told
    std::unique_ptr<FunctionContext> by;            // for its next function
    std::byte* owner = nullptr;                     // its word
    std::byte* memory = nullptr;
  };
  class Running;

  // A call that waits in its caller's outbox (incoming_outbox.cpp).
  struct Fetch {
    uint32_t caller;
    uint32_t place;
    uint32_t slots;
    std::unique_ptr<std::byte[]> copy;  // of a call of another node
    Handle get{};
    enum class State : uint8_t { rung, asked, ready, replies, ran } state = State::rung;
    std::unique_ptr<FunctionContext> by;
  };
  bool run_bells(ExchangeContext exchange);
  void hear_bells();
  void hear_bell(uint32_t caller, uint32_t value);
  bool advance(Fetch& fetch, ExchangeContext exchange);
  bool fetch(Fetch& fetch);
  void run_fetched(Fetch& fetch, ExchangeContext exchange);
  void settle_fetched(Fetch& fetch);

  Ring& ring(uint32_t number) {
    Ring* const one = rings_.find(number);
    return one != nullptr ? *one : make_ring(number);
  }
  Ring& make_ring(uint32_t number);
  // The rank, or kNoRank.
  [[nodiscard]] uint32_t owner(uint32_t number) const;
  static uint32_t owner(const Ring& ring) {
    return arch::word32(ring.owner).load(std::memory_order_acquire) - 1;
  }
  [[nodiscard]] bool ready(const Ring& ring) const;
  void pass_on(Ring& ring, bool mapped, uint32_t slots);
  template <class Visit>
  void for_each_marked(uint64_t marks, Visit visit) const;
  bool run_rings(uint64_t marks, ExchangeContext exchange, bool uncancelled);
  bool run_ring(uint32_t number, ExchangeContext exchange, bool uncancelled);
  uint32_t take_entries(uint32_t number, Ring& ring, ExchangeContext exchange);
  void execute(const CallEntry& entry, uint32_t caller, FunctionContext& by, ExchangeContext exchange);
  struct Outcome {
    int32_t code;
    uint64_t value;
  };
  Outcome call(const CallEntry& entry, uint32_t caller, FunctionContext& by, ExchangeContext exchange);
  Outcome threw(const CallEntry& entry, uint32_t caller, const char* what);
  void tell(Context& c, uint32_t number, Ring& ring, uint32_t caller);
  void pay_owing();

  Runtime& runtime_;
  const Layout& layout_;
  const uint64_t begin_;
  const uint32_t ranks_;
  std::byte* const* const bases_;  // per rank: where its segment is mapped, or null
  FunctionTable& functions_;
  FunctionContexts& contexts_;
  Packing& packing_;
  std::atomic<uint32_t>& unsettled_;  // rings of which more is to be told, and parked contexts
  SparseTable<Ring> rings_;           // made when something has come
  std::mutex mutex_;
  std::vector<uint32_t> owing_;  // under the mutex
  std::atomic<uint32_t> idle_looks_{0};
  std::mutex fetches_mutex_;
  std::list<Fetch> fetches_;  // under the mutex; whoever works at some has taken them out
  uint32_t first_bell_ = 0;   // likewise: the rank behind the one that was heard last
};

}  // namespace ompl::calls
