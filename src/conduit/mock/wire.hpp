// SPDX-License-Identifier: BSD-3-Clause
//
// The mock conduit: a network that does everything the contract (conduit/conduit.hpp) allows and
// nothing it does not promise. It exists for hostility, not for communication: its ranks are threads of
// one process, joined by a Wire that the test creates and hands to each rank's conduit. It is compiled
// into the tests only. What the core does against the contract ends the process with one line and the
// seed.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "conduit/conduit.hpp"
#include "omnipgas/ompl.h"
#include "util/mutex.hpp"

namespace ompl::conduit::mock {

class MockLink;
class Port;

// An injected error at one link: the path from endpoint (rank, slot) to the rank `peer`.
struct Fault {
  enum class Kind : uint8_t {
    break_link,      // the link carries nothing any more; failure() follows at a later progress()
    fail_post,       // the post itself answers `failed`
    break_endpoint,  // every link of the endpoint breaks, and progress() returns OMPL_ERR_LINK
  };
  Kind kind = Kind::break_link;
  uint32_t rank = 0;
  uint32_t slot = 0;
  uint32_t peer = 0;
  uint64_t after = 0;  // operations posted on the link before it strikes
  int code = OMPL_ERR_LINK;
};

// How hostile the network is. Delays are counted in progress() calls, never in time.
struct Hostility {
  uint64_t seed = 1;
  // What capabilities() answers; the mock then keeps exactly that and no more.
  bool passive_target = false;
  bool ordered_signals = true;
  bool ordered_puts = false;
  bool remote_completion = true;
  bool stalls_sender = false;
  std::size_t max_message = SIZE_MAX;
  std::size_t segment = 0;
  uint32_t stripes = 1;
  std::size_t connection_bytes = 0;
  uint32_t max_endpoints = UINT32_MAX;
  std::size_t max_fused_put = 0;  // at most inline_limit
  bool immediate_puts = false;
  // Room. A link with `send_depth` operations outstanding answers retry(queue_full).
  std::size_t send_depth = 64;
  // Records waiting for the target: per endpoint if the mock stalls its senders; else per link, and one
  // more is an error of the core, which must have kept credits.
  std::size_t receive_depth = 256;
  std::size_t inline_limit = 64;              // puts up to this length are copied by the post: `done`
  std::size_t registration_limit = SIZE_MAX;  // commit() refuses beyond this many bytes in all
  uint32_t limited_rank = UINT32_MAX;         // the only rank with that limit, or all
  // Lateness: each is the upper end of a random number.
  unsigned delivery_delay = 4;    // of data and records, in progress() calls of whoever carries them
  unsigned completion_delay = 4;  // of completions, in progress() calls of the initiator
  unsigned connect_delay = 4;     // of a connection, in progress() calls of the target
  unsigned spurious_retry = 16;   // one post of so many is refused for no reason; 0: none
  bool fails_when_asked =
      false;               // a break becomes known right after somebody found failure() to know of none
  bool scramble = true;    // overtake wherever the contract promises no order; tear data to pieces
  bool descriptor = true;  // endpoints have one
  bool death_notice = true;  // Reach::death_fd becomes readable by Wire::kill()
  std::vector<Fault> faults = {};

  [[nodiscard]] std::string describe() const;
};

// What happened on a wire; for assertions and the hang report.
struct Counts {
  std::atomic<uint64_t> endpoints{0};     // opened
  std::atomic<uint64_t> progressed{0};    // calls of progress(), of all endpoints
  std::atomic<uint64_t> posted{0};        // operations accepted,
  std::atomic<uint64_t> posted_data{0};   // puts and gets among them
  std::atomic<uint64_t> retried{0};       // posts answered retry
  std::atomic<uint64_t> moved{0};         // puts and gets carried out
  std::atomic<uint64_t> records{0};       // records given to a sink
  std::atomic<uint64_t> dropped{0};       // operations lost by a failure or by closing an endpoint
  std::atomic<uint64_t> refused_dead{0};  // posts on a link that had failed
  // Times an endpoint was armed while a link would take what it had refused. With one thread a rank: that thread sleeps
  // though it need not.
  std::atomic<uint64_t> overslept{0};
};

// The registered memory of one rank.
class Memory {
 public:
  void open(std::byte* base, std::size_t capacity);
  // False if more than `limit` bytes would then be registered.
  bool commit(uint64_t offset, std::size_t length, std::size_t limit);
  void release(uint64_t offset, std::size_t length);
  // Where the range lies, or nullptr if any of it is not registered.
  std::byte* find(uint64_t offset, std::size_t length);

 private:
  void erase(uint64_t begin, uint64_t end) OMPL_REQUIRES(mutex_);

  Mutex mutex_;
  std::byte* base_ OMPL_GUARDED_BY(mutex_) = nullptr;
  std::size_t capacity_ OMPL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, uint64_t> ranges_ OMPL_GUARDED_BY(mutex_);  // begin to end, disjoint, not adjacent
};

// Joins the conduits of one job. Created by the test; outlives the conduits. All functions: any thread.
class Wire {
 public:
  Wire(uint32_t ranks, Hostility hostility);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  [[nodiscard]] const Hostility& hostility() const { return hostility_; }
  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(memory_.size()); }
  Counts& counts() { return counts_; }

  // For the test: injects an error now. A killed rank sends and receives nothing any more.
  void break_link(uint32_t rank, uint32_t slot, uint32_t peer, int code = OMPL_ERR_LINK);
  void break_endpoint(uint32_t rank, uint32_t slot);
  void kill(uint32_t rank);
  // Like break_link(), and known at once, as if whoever holds the endpoint had just learnt of it.
  void fail_link(uint32_t rank, uint32_t slot, uint32_t peer);
  // For the test: does this once, in the thread that posts the next put or get, right after the post.
  void after_next_data(std::function<void()> action);

  // For the test: who progresses the endpoint next stays in there, as if it had lost its core, while this lives.
  class Detention {
   public:
    Detention(Wire& wire, uint32_t rank, uint32_t slot);
    ~Detention();
    Detention(const Detention&) = delete;
    Detention& operator=(const Detention&) = delete;
    [[nodiscard]] bool holds() const { return wire_.detained_ > 0; }

   private:
    Wire& wire_;
  };

  // For the conduit.
  Memory& memory(uint32_t rank) { return memory_[rank]; }
  [[nodiscard]] int death_fd(uint32_t rank) const { return death_fds_[rank]; }
  Port& port(uint32_t rank, uint32_t slot);
  MockLink& link(uint32_t rank, uint32_t slot, uint32_t peer, uint32_t peer_slot);
  void detain(uint32_t rank, uint32_t slot);
  void data_posted();
  // The core broke the contract: says so on standard error, with the seed, and aborts.
  [[noreturn]] void violation(std::string_view what) const;

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint32_t>;  // rank, slot, peer

  Port& port_locked(uint32_t rank, uint32_t slot) OMPL_REQUIRES(mutex_);

  const Hostility hostility_;
  Counts counts_;
  std::vector<Memory> memory_;
  std::vector<int> death_fds_;
  Mutex mutex_;  // taken before a link's
  std::vector<bool> dead_ OMPL_GUARDED_BY(mutex_);
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Port>> ports_ OMPL_GUARDED_BY(mutex_);
  std::map<Key, std::unique_ptr<MockLink>> links_ OMPL_GUARDED_BY(mutex_);
  std::function<void()> after_data_ OMPL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> detains_{0};  // one more than rank << 32 | slot; 0: none
  std::atomic<uint32_t> detained_{0};
};

// The conduit of one rank on `wire`.
std::unique_ptr<Conduit> make(Wire& wire);

}  // namespace ompl::conduit::mock
