// SPDX-License-Identifier: BSD-3-Clause
// Which ranks have failed, how that is learnt, and how others are told. Protocol rules 16, 18, 19, 23. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "bootstrap/bootstrap.hpp"
#include "core/job/activity.hpp"
#include "core/job/membership.hpp"
#include "core/wait/sleepers.hpp"
#include "util/settings.hpp"

namespace ompl {

class ContextTable;
class EndpointPool;

// What is known of another rank's life.
struct PeerState {
  std::atomic<int> failure{0};        // OMPL_ERR_PEER: dead; OMPL_ERR_LINK: out of reach
  std::atomic<bool> torn{false};      // it, or somebody who tried, says that it has lost a connection
  std::atomic<bool> stopped{false};   // it has called ompl_stop
  std::atomic<bool> left{false};      // it has come out of ompl_finalize with an error
  int said = 0;                       // the same, of the last line in the log
  std::atomic<bool> departed{false};  // it has come to ompl_finalize: its end is not its death
};

class Failures {
 public:
  Failures(const Settings& settings, bootstrap::Bootstrap& bootstrap, const Membership& members,
           const GlobalMemory& memory, Sleepers& sleepers);

  // Endpoints that tell of broken connections and carry news, until nullptr is given; and contexts, whose fast paths over them know of
  // no failure. One thread.
  void watch(EndpointPool* pool, const ContextTable* contexts) {
    contexts_ = contexts;
    pool_ = pool;
  }

  // Looks for dead ranks, now and then.
  void look_for_deaths();
  // Declares failed those of `count` ranks from `first` on to whom a connection is broken: a call may have reported it before any look.
  void look_for_broken(uint32_t first, uint32_t count);
  // The same for all ranks, if a call has reported any since the last time. One thread.
  void take_in_reports();
  // What a record says of a failure: outside bytes.
  void hear(const Signal& news);
  // One line in the log for each failure, before any call reports it.
  void say_failed(uint32_t rank, int code, std::string_view how);
  // A wait for that rank's signal on the flag at `flag`: whether it has left without. `ask`: sends it a record that says nothing,
  // since a rank to which nobody has a connection might die unnoticed.
  void look_at_awaited(uint32_t rank, uint64_t flag, bool ask);
  // At the end: this rank has come to the last barrier, and only from now on may others leave in order; every rank's silence is
  // its departure; or this rank leaves after an error, lest others wait for ever: in the barrier, or for its signals.
  void note_last_barrier() { in_last_barrier_.store(true); }
  [[nodiscard]] bool in_last_barrier() const { return in_last_barrier_.load(); }
  void all_depart();
  void leave_early();
  // That rank has come out of ompl_finalize with an error.
  void note_left(uint32_t rank) { peers_[rank].left.store(true); }

  [[nodiscard]] const PeerState& peer(uint32_t rank) const { return peers_[rank]; }
  // Failures of ranks known; after acknowledge(), which counts the ranks, waits block again until a
  // further one.
  [[nodiscard]] uint32_t count() const { return failures_.load(std::memory_order_acquire); }
  // Grows with each of them, and with each rank that is said to have lost a connection.
  [[nodiscard]] uint32_t events() const { return failure_events_.load(std::memory_order_acquire); }
  uint32_t acknowledge();
  // The number of ranks known to be dead or out of reach; the lowest of them, ascending, as far as there is room.
  [[nodiscard]] std::size_t failed_ranks(std::span<uint32_t> lowest) const;

  // This rank does nothing more, and all that it has sent is there: tells the others [29].
  void stop();
  // As failed_ranks(), of those that have stopped and not failed. Takes in what the node knows.
  [[nodiscard]] std::size_t stopped_ranks(std::span<uint32_t> lowest);
  // A rank that has stopped, or kNoRank. What is known without a look.
  [[nodiscard]] uint32_t some_stopped() const { return some_stopped_.load(std::memory_order_relaxed); }

  // Whether a wait for that rank, or for any, cannot be satisfied any more, and the error that then ends it.
  [[nodiscard]] bool hopeless(uint32_t rank = kNoRank) const;
  int report_failure();
  // OMPL_OK, or why collectives of all ranks can never end any more. The last barrier ends even where failures are ignored.
  [[nodiscard]] int world_failure() const {
    return ignores_ && !in_last_barrier() ? static_cast<int>(OMPL_OK) : world_.load();
  }
  int report_world_failure();

 private:
  void look();
  void look_at_node();
  void note_end(uint32_t rank);
  void look_at_news();
  void look_at_descriptors();
  enum class News : uint8_t { torn, dead, stopped };
  static RankSet& set_of(SegmentHeader& header, News what);
  void spread(News what, uint32_t rank, uint32_t except = kNoRank);
  void tell_others(News what, uint32_t rank, uint32_t except);
  void learn(News what, uint32_t rank);
  void learn_stopped(uint32_t rank);
  template <class Holds>
  std::size_t list(std::span<uint32_t> lowest, Holds holds) const;
  void declare_failed(uint32_t rank, int code, std::string_view how);

  const bool ignores_;  // OMPL_ON_PEER_DEATH
  const bool aborts_;
  bootstrap::Bootstrap& bootstrap_;
  const Membership& members_;
  const GlobalMemory& memory_;
  Sleepers& sleepers_;
  EndpointPool* pool_ = nullptr;
  const ContextTable* contexts_ = nullptr;
  const uint32_t rank_;
  const uint32_t size_;
  std::unique_ptr<PeerState[]> peers_;
  std::atomic<bool> severed_{false};  // nothing goes over the network any more
  std::mutex declaring_;
  std::mutex saying_;
  std::atomic<bool> reported_{false};  // a failure was told that may not be declared yet
  std::atomic<uint32_t> failures_{0};
  std::atomic<uint32_t> failure_events_{0};
  std::atomic<int> world_{OMPL_OK};
  std::atomic<bool> in_last_barrier_{false};
  std::atomic<uint32_t> news_seen_{0};
  std::atomic<uint32_t> some_stopped_{kNoRank};
  std::atomic<uint32_t> acknowledged_{0};
  std::atomic<int64_t> deaths_looked_ns_{0};
  std::atomic<uint32_t> looked_from_{0};  // the rank at which the next look at the network begins
};

}  // namespace ompl
