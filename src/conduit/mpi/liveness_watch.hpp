// SPDX-License-Identifier: BSD-3-Clause
// Whether those that this rank waits for can still be reached, which MPI does not tell: in a network that is cut for
// good it waits without end, some of it inside its calls. So a thread looks once a second, if any rank is on another
// host. It calls nothing of MPI. While somebody waits, it probes silent ranks: who sleeps, computes or is
// stopped answers. Who gave a sign once and then none for kUnreachedMs is lost. Waits learn that from losses(); a
// thread that MPI does not give back cannot, and its process ends.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conduit/common/route_search.hpp"
#include "conduit/conduit.hpp"

namespace ompl::conduit::mpi {

class LivenessWatch {
 public:
  static constexpr uint32_t kNobody = UINT32_MAX;
  static constexpr uint32_t kAnyone = kNobody - 1;

  // What calls MPI: an endpoint, or the session.
  struct alignas(64) Caller {
    std::atomic<uint32_t> rank{kNobody};  // that MPI is called for now
    std::atomic<uint32_t> calls{0};

    void enter(uint32_t for_rank) {
      calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      rank.store(for_rank);
    }
    void leave() { rank.store(kNobody); }

    // The watch's own.
    uint32_t seen = 0;   // calls
    uint32_t stuck = 0;  // looks at the same call
  };

  // Makes this rank's own liveness listener. An error is recorded.
  int open(const Job& job);
  // What the others need to ask for it.
  [[nodiscard]] std::string address() const;
  // What `rank` published; outside bytes. False: no address.
  bool note(uint32_t rank, std::string_view address);
  // From now on it looks, every `period`, unless all ranks are on this host.
  void start(std::chrono::milliseconds period = std::chrono::seconds(1));
  [[nodiscard]] bool running() const { return thread_.joinable(); }

  [[nodiscard]] Caller& endpoint(uint32_t slot) { return callers_[slot]; }
  [[nodiscard]] Caller& session() { return callers_.back(); }

  // Something is about to be sent to it; something came from it. Any thread: mostly a load.
  void meet(uint32_t rank) {
    if (sign(rank) == Sign::unmet) peers_[rank].sign.store(Sign::silent, std::memory_order_relaxed);
  }
  void hear(uint32_t rank) {
    if (sign(rank) != Sign::heard) peers_[rank].sign.store(Sign::heard, std::memory_order_relaxed);
  }

  // How many ranks are lost; lost(): OMPL_OK, or OMPL_ERR_LINK or OMPL_ERR_PEER. Any thread.
  [[nodiscard]] uint32_t losses() const { return losses_.load(std::memory_order_acquire); }
  [[nodiscard]] int lost(uint32_t rank) const { return peers_[rank].lost; }
  [[nodiscard]] std::string why(uint32_t rank) const;

 private:
  enum class Sign : uint8_t { unmet, silent, heard };
  struct Peer {
    std::atomic<Sign> sign{Sign::unmet};
    std::atomic<int> lost{OMPL_OK};
    bool watched = false;
    uint32_t silent = 0;      // looks without a sign of it while somebody waited
    uint32_t unanswered = 0;  // looks since it was asked
    HostAddresses host;
    uint16_t port = 0;
    PeerProbe probe;
  };

  [[nodiscard]] Sign sign(uint32_t rank) const {
    return peers_[rank].sign.load(std::memory_order_relaxed);
  }
  void look();
  bool anyone_waits();
  void look_at(uint32_t rank, bool waited_for);
  void listen(uint32_t rank);
  void end_if_stuck() const;

  LivenessListener liveness_listener_;
  HostAddresses host_;
  std::vector<NetworkInterface> interfaces_;
  uint16_t port_ = 0;
  std::vector<Caller> callers_;
  std::vector<Peer> peers_;
  std::size_t first_ = 0;  // rank to begin the next look with, modulo their number
  int64_t asking_ = 0;     // ranks
  std::atomic<uint32_t> losses_{0};
  std::jthread thread_;
};

}  // namespace ompl::conduit::mpi
