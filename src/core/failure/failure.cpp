// SPDX-License-Identifier: BSD-3-Clause
// Death of ranks, and connections that break: learnt from pidfds and the network, off the fast path. Protocol
// rules 16, 18, 19.
#include <poll.h>

#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {
constexpr int64_t kLookPeriod_ns = 50'000'000;
constexpr uint32_t kRanksPerLook =
    4096;  // of the network: a look takes 0.2 ms at most, however large the job

std::string failure_text(uint32_t rank, int code, std::string_view how) {
  return fmt::format("rank {} {}: {}", rank, code == OMPL_ERR_PEER ? "died" : "is out of reach", how);
}
}  // namespace

// At most one thread looks, and not more often than the period.
void Runtime::look_for_deaths() {
  int64_t last = deaths_looked_ns_.load(std::memory_order_relaxed);
  const int64_t now = now_ns();
  if (now - last < kLookPeriod_ns) return;
  if (!deaths_looked_ns_.compare_exchange_strong(last, now, std::memory_order_relaxed)) return;

  for (const uint32_t rank : node_ranks_) {
    Peer& peer = peers_[rank];
    if (peer.death_fd < 0 || peer.failure.load() == OMPL_ERR_PEER || peer.departed.load()) continue;
    pollfd death{.fd = peer.death_fd, .events = POLLIN, .revents = 0};
    if (::poll(&death, 1, 0) != 1) continue;
    // The process is gone: its last word on its own state is final.
    if (header_of(bases_[rank]).state.load() == RankState::departed) {
      peer.departed.store(true);
    } else {
      declare_failed(rank, OMPL_ERR_PEER, "its process ended without ompl_finalize");
    }
  }
  const uint32_t first = looked_from_.load(std::memory_order_relaxed);
  looked_from_.store(size_ - first > kRanksPerLook ? first + kRanksPerLook : 0,
                     std::memory_order_relaxed);
  look_for_broken(first, kRanksPerLook);
}

void Runtime::look_for_broken(uint32_t first, uint32_t count) {
  if (network_ == nullptr) return;
  for (const auto& [rank, code, why] : network_->pool.broken_peers(first, count)) {
    if (!peers_[rank].departed.load()) declare_failed(rank, code, why);
  }
}

// Who is out of reach may still turn out to be dead, but not the other way round.
void Runtime::declare_failed(uint32_t rank, int code, std::string_view how) {
  const std::scoped_lock lock(declaring_);  // so that who finds it declared finds it counted
  const int known = peers_[rank].failure.load();
  if (known == code || known == OMPL_ERR_PEER) return;
  say_failed(rank, code, how);
  peers_[rank].failure.store(code);
  if (settings_.on_peer_death == "abort") bootstrap_->abort(1, failure_text(rank, code, how));
  failures_.fetch_add(1, std::memory_order_seq_cst);
  SegmentHeader& header = segment_.header();
  if (header.any.sleepers.load() != 0) wake(rank_, header, header.any);
  for (Bucket& bucket : header.buckets) {
    if (bucket.sleepers.load() != 0) wake(rank_, header, bucket);
  }
}

// Once, and before any call reports it.
void Runtime::say_failed(uint32_t rank, int code, std::string_view how) {
  const std::scoped_lock lock(saying_);
  int& said = peers_[rank].said;
  if (said == code || said == OMPL_ERR_PEER) return;
  said = code;
  log::error("{}", failure_text(rank, code, how));
}

// Some rank has failed, and nobody has acknowledged it: what is not satisfied ends with the error.
bool Runtime::hopeless() const {
  return failures_.load() != acknowledged_.load() && !deaths_are_ignored();
}

int Runtime::report_failure() {
  std::vector<uint32_t> dead;
  std::vector<uint32_t> lost;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    const int failure = peers_[rank].failure.load();
    if (failure != OMPL_OK) (failure == OMPL_ERR_PEER ? dead : lost).push_back(rank);
  }
  if (!dead.empty()) {
    return fail_quietly(OMPL_ERR_PEER,
                        fmt::format("died without ompl_finalize: rank {}", fmt::join(dead, ", ")));
  }
  return fail_quietly(OMPL_ERR_LINK,
                      fmt::format("the connection broke to rank {}", fmt::join(lost, ", ")));
}

// Also of what calls have reported and no look has found yet.
uint32_t Runtime::acknowledge_failures() {
  look_for_broken(0, size_);
  acknowledged_.store(failures_.load());
  uint32_t failed = 0;
  for (uint32_t rank = 0; rank < size_; ++rank)
    failed += peers_[rank].failure.load() != OMPL_OK ? 1 : 0;
  return failed;
}

}  // namespace ompl
