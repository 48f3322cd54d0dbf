// SPDX-License-Identifier: BSD-3-Clause
// Death of ranks: learnt from pidfds and broken connections, off the fast path. Protocol rules 16, 18, 19.
#include <poll.h>

#include "core/network.hpp"
#include "core/runtime.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {
constexpr int64_t kLookPeriod_ns = 50'000'000;
}

// At most one thread looks, and not more often than the period.
void Runtime::look_for_deaths() {
  int64_t last = deaths_looked_ns_.load(std::memory_order_relaxed);
  const int64_t now = now_ns();
  if (now - last < kLookPeriod_ns) return;
  if (!deaths_looked_ns_.compare_exchange_strong(last, now, std::memory_order_relaxed)) return;

  for (const uint32_t rank : node_ranks_) {
    Peer& peer = peers_[rank];
    if (peer.death_fd < 0 || peer.dead.load() || peer.departed.load()) continue;
    pollfd death{.fd = peer.death_fd, .events = POLLIN, .revents = 0};
    if (::poll(&death, 1, 0) != 1) continue;
    // The process is gone: its last word on its own state is final.
    if (header_of(bases_[rank]).state.load() == RankState::departed) {
      peer.departed.store(true);
    } else {
      declare_dead(rank, "its process ended without ompl_finalize");
    }
  }
  if (network_ == nullptr) return;
  for (const uint32_t rank : network_->broken_peers()) {
    if (!peers_[rank].departed.load()) declare_dead(rank, "its connection broke");
  }
}

void Runtime::declare_dead(uint32_t rank, std::string_view how) {
  if (peers_[rank].dead.exchange(true)) return;
  log::error("rank {} died: {}", rank, how);
  if (settings_.on_peer_death == "abort") {
    bootstrap_->abort(1, fmt::format("rank {} died: {}", rank, how));
  }
  failures_.fetch_add(1, std::memory_order_seq_cst);
  SegmentHeader& header = segment_.header();
  if (header.any.sleepers.load() != 0) wake(rank_, header, header.any);
  for (Bucket& bucket : header.buckets) {
    if (bucket.sleepers.load() != 0) wake(rank_, header, bucket);
  }
}

// Some rank is known dead, and nobody has acknowledged it: what is not satisfied ends with the error.
bool Runtime::hopeless() const {
  return failures_.load() != acknowledged_.load() && !deaths_are_ignored();
}

int Runtime::report_death() {
  std::string dead;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (peers_[rank].dead.load()) dead += fmt::format("{}{}", dead.empty() ? "" : ", ", rank);
  }
  return fail_quietly(OMPL_ERR_PEER, fmt::format("died without ompl_finalize: rank {}", dead));
}

uint32_t Runtime::acknowledge_failures() {
  const uint32_t known = failures_.load();
  acknowledged_.store(known);
  return known;
}

}  // namespace ompl
