// SPDX-License-Identifier: BSD-3-Clause
// Death of ranks, and connections that break: learnt from pidfds and the network, off the fast path. Protocol
// rules 16, 18, 19.
#include "core/failure/failure.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <new>

#include "arch/cancellation.hpp"
#include "arch/life_lock.hpp"
#include "arch/process_watch.hpp"
#include "core/job/context_table.hpp"
#include "core/network/endpoint_pool.hpp"
#include "core/wait/deadline.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {
constexpr int64_t kLookPeriod_ns = 50'000'000;
constexpr std::size_t kPidfdsPerCall = 64;
constexpr uint32_t kRanksPerLook =
    4096;  // of the network: a look takes 0.2 ms at most, however large the job
// What a record of news says of its rank.
constexpr uint64_t kTorn = 0;
constexpr uint64_t kDead = 1;
constexpr uint64_t kLeft = 2;
constexpr uint64_t kStopped = 3;

// Where the system has no pidfds: by the lock that its process holds on its segment.
bool has_let_go(const Peer& peer, const SegmentHeader& header) {
  return peer.segment_fd >= 0 && header.life_lock.load() != 0 &&
         !arch::is_life_lock_held(peer.segment_fd, peer.segment_offset);
}

std::string failure_text(uint32_t rank, int code, std::string_view how) {
  return fmt::format("rank {} {}: {}", rank, code == OMPL_ERR_PEER ? "died" : "is out of reach", how);
}
}  // namespace

Failures::Failures(const Settings& settings, bootstrap::Bootstrap& bootstrap, const Membership& members,
                   const GlobalMemory& memory, Sleepers& sleepers)
    : ignores_(settings.on_peer_death == "ignore"),
      aborts_(settings.on_peer_death == "abort"),
      bootstrap_(bootstrap),
      members_(members),
      memory_(memory),
      sleepers_(sleepers),
      rank_(members.rank()),
      size_(members.size()),
      peers_(std::make_unique<PeerState[]>(members.size())) {}

// At most one thread looks, and not more often than the period.
void Failures::look_for_deaths() {
  int64_t last = deaths_looked_ns_.load(std::memory_order_relaxed);
  const int64_t now = now_ns();
  if (now - last < kLookPeriod_ns) return;
  if (!deaths_looked_ns_.compare_exchange_strong(last, now, std::memory_order_relaxed)) return;
  const arch::Uncancelled whole;
  try {
    look();
  } catch (const std::bad_alloc&) {  // what it has found is found again
  }
}

void Failures::look() {
  look_at_node();
  look_at_descriptors();
  look_at_news();
  const uint32_t first = looked_from_.load(std::memory_order_relaxed);
  looked_from_.store(size_ - first > kRanksPerLook ? first + kRanksPerLook : 0,
                     std::memory_order_relaxed);
  look_for_broken(first, kRanksPerLook);
}

// Many pidfds by one system call: on a large node there are hundreds, and every blocked rank looks.
void Failures::look_at_node() {
  std::array<pollfd, kPidfdsPerCall> watched{};
  std::array<uint32_t, kPidfdsPerCall> ranks{};
  std::size_t count = 0;
  const auto look = [&] {
    // A program that has lowered its limit on descriptors since may wait for few at once.
    const int found = count > 0 ? ::poll(watched.data(), count, 0) : 0;
    for (std::size_t i = 0; found != 0 && i < count; ++i) {
      const bool ended =
          found < 0 ? arch::tells_of_end(watched[i].fd)
                    : (watched[i].revents & POLLIN) != 0 && arch::is_process_watch(watched[i].fd);
      if (ended) note_end(ranks[i]);
    }
    count = 0;
  };
  for (const uint32_t rank : members_.node_ranks()) {
    const PeerState& peer = peers_[rank];
    if (peer.failure.load() == OMPL_ERR_PEER || peer.departed.load()) continue;
    const Peer& reached = members_.peer(rank);
    if (reached.death_fd >= 0) {
      watched[count] = {.fd = reached.death_fd, .events = POLLIN, .revents = 0};
      ranks[count++] = rank;
      if (count == watched.size()) look();
    } else if (has_let_go(reached, memory_.header(rank))) {
      note_end(rank);
    }
  }
  look();
}

// The process is gone: its last word on its own state is final.
void Failures::note_end(uint32_t rank) {
  PeerState& peer = peers_[rank];
  const RankState state = memory_.header(rank).state.load();
  if (state == RankState::departed) {
    peer.departed.store(true);
    return;
  }
  if (state == RankState::left) peer.left.store(true);
  declare_failed(rank, OMPL_ERR_PEER, "its process ended without ompl_finalize");
}

void Failures::look_for_broken(uint32_t first, uint32_t count) {
  if (pool_ == nullptr) return;
  for (const auto& [rank, code, left, why] : pool_->broken_peers(first, count)) {
    if (peers_[rank].departed.load()) continue;
    if (left) peers_[rank].left.store(true);
    declare_failed(rank, code, why);
  }
}

void Failures::take_in_reports() {
  if (!reported_.load()) return;
  reported_.store(false);
  try {
    look_for_broken(0, size_);
  } catch (const std::bad_alloc&) {
    reported_.store(true);
  }
}

void Failures::look_at_descriptors() {
  if (pool_ == nullptr || severed_.load() || pool_->is_sound()) return;
  pool_->sever();
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (memory_.bases()[rank] == nullptr && !peers_[rank].departed.load())
      declare_failed(rank, OMPL_ERR_LINK, pool_->why_severed());
  }
  severed_.store(true);
}

// Who is out of reach may still turn out to be dead, but not the other way round.
void Failures::declare_failed(uint32_t rank, int code, std::string_view how) {
  const std::scoped_lock lock(declaring_);  // so that who finds it declared finds it counted
  const int known = peers_[rank].failure.load();
  if (known == code || known == OMPL_ERR_PEER) return;
  say_failed(rank, code, how);
  if (aborts_) bootstrap_.abort(1, failure_text(rank, code, how));
  // Without memory for its news it is not declared yet, but looked at again.
  spread(code == OMPL_ERR_PEER ? News::dead : News::torn, rank, rank);
  if (code != OMPL_ERR_PEER) spread(News::torn, rank_, rank);
  peers_[rank].failure.store(code);
  world_.store(world_.load() == OMPL_ERR_PEER ? OMPL_ERR_PEER : code);
  failures_.fetch_add(1, std::memory_order_seq_cst);
  failure_events_.fetch_add(1);
  if (contexts_ != nullptr) contexts_->close_fast_paths();
  SegmentHeader& header = memory_.header();
  if (header.any.sleepers.load() != 0) sleepers_.wake(rank_, header, header.any);
  for (Bucket& bucket : header.buckets) {
    if (bucket.sleepers.load() != 0) sleepers_.wake(rank_, header, bucket);
  }
}

void Failures::say_failed(uint32_t rank, int code, std::string_view how) {
  const std::scoped_lock lock(saying_);
  int& said = peers_[rank].said;
  if (said == code || said == OMPL_ERR_PEER) return;
  said = code;
  reported_.store(true);
  if (peers_[rank].left.load()) return log::info("rank {} left the job after an error", rank);
  log::error("{}", failure_text(rank, code, how));
}

// A wait for any rank is hopeless once one has failed, until that is acknowledged.
bool Failures::hopeless(uint32_t rank) const {
  if (ignores_ && !severed_.load()) return false;
  return rank == kNoRank ? failures_.load() != acknowledged_.load()
                         : peers_[rank].failure.load() != OMPL_OK;
}

int Failures::report_failure() {
  std::vector<uint32_t> dead;
  std::vector<uint32_t> left;
  std::vector<uint32_t> lost;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    const int failure = peers_[rank].failure.load();
    if (failure == OMPL_ERR_LINK) lost.push_back(rank);
    if (failure == OMPL_ERR_PEER) (peers_[rank].left.load() ? left : dead).push_back(rank);
  }
  if (!dead.empty()) {
    return fail_quietly(OMPL_ERR_PEER,
                        fmt::format("died without ompl_finalize: rank {}", fmt::join(dead, ", ")));
  }
  if (!left.empty()) {
    return fail_quietly(OMPL_ERR_PEER,
                        fmt::format("left the job after an error: rank {}", fmt::join(left, ", ")));
  }
  return fail_quietly(OMPL_ERR_LINK,
                      fmt::format("the connection broke to rank {}", fmt::join(lost, ", ")));
}

int Failures::report_world_failure() {
  if (count() != 0) return report_failure();
  return fail_quietly(
      OMPL_ERR_LINK,
      "two ranks of the job have lost each other, so no collective of all ranks can end");
}

// --- News (rule 23). A failure is known where it is noticed: where a process was watched, or a connection broke. Everybody
// else would wait for ever, so it is told on: to the node through the headers of its segments, to the barrier's neighbours
// by records, and by each of them again when it is new to it. Whoever leaves after an error is told of like the dead.

RankSet& Failures::set_of(SegmentHeader& header, News what) {
  return what == News::dead ? header.dead : what == News::torn ? header.torn : header.stopped;
}

// Not to `except`, which is about to be declared failed.
void Failures::spread(News what, uint32_t rank, uint32_t except) {
  if (rank >= kNewsRanks) return;
  if (pool_ != nullptr) tell_others(what, rank, except);
  for (const uint32_t mate : members_.node_ranks()) {
    SegmentHeader& header = memory_.header(mate);
    if (!set_of(header, what).add(rank)) continue;
    header.news.fetch_add(1);
    if (mate != rank_ && header.any.sleepers.load() != 0) sleepers_.wake(mate, header, header.any);
  }
}

// First, since it alone needs memory: what was not told is told again.
void Failures::tell_others(News what, uint32_t rank, uint32_t except) {
  std::vector<uint32_t> others;
  const auto add = [&](uint32_t to) {
    if (to != except && memory_.bases()[to] == nullptr && peers_[to].failure.load() == OMPL_OK)
      others.push_back(to);
  };
  for (uint64_t distance = 1; distance < size_; distance *= 2) {
    add(static_cast<uint32_t>((rank_ + distance) % size_));
    add(static_cast<uint32_t>((rank_ + size_ - distance) % size_));
  }
  // One rank of each node tries whether it reaches who is said to be out of reach: it may be dead.
  if (what == News::torn && rank_ == members_.first_of_node()) add(rank);
  const uint64_t dead = peers_[rank].left.load() ? kLeft : kDead;
  const uint64_t said = what == News::dead ? dead : what == News::torn ? kTorn : kStopped;
  pool_->tell({.offset = rank, .value = said, .op = SignalOp::news}, others);
}

// Whoever leaves in order has seen all its signals applied before it closes its endpoints.
void Failures::look_at_awaited(uint32_t rank, uint64_t flag, bool ask) {
  PeerState& peer = peers_[rank];
  if (pool_ == nullptr || memory_.bases()[rank] != nullptr || peer.failure.load() != OMPL_OK) return;
  if (pool_->departed(rank)) {
    if (arch::word32(memory_.segment().base() + flag).load() != 0) return;
    peer.left.store(true);
    declare_failed(rank, OMPL_ERR_PEER, "it left the job");
  } else if (ask) {
    pool_->tell({.offset = kNewsRanks, .value = kTorn, .op = SignalOp::news}, {&rank, 1});
  }
}

void Failures::hear(const Signal& news) {
  if (news.offset >= std::min(size_, kNewsRanks)) return;
  const auto rank = static_cast<uint32_t>(news.offset);
  const bool dead = news.value == kDead || news.value == kLeft;
  if (news.value == kLeft && rank != rank_) peers_[rank].left.store(true);
  const News what = dead ? News::dead : news.value == kStopped ? News::stopped : News::torn;
  if (!set_of(memory_.header(), what).has(rank)) learn(what, rank);
}

void Failures::look_at_news() {
  SegmentHeader& header = memory_.header();
  const uint32_t now = header.news.load();
  if (news_seen_.load() == now) return;
  for (uint32_t rank = 0; rank < std::min(size_, kNewsRanks); ++rank) {
    for (const News what : {News::stopped, News::dead, News::torn}) {
      if (set_of(header, what).has(rank)) learn(what, rank);
    }
  }
  news_seen_.store(now);
}

void Failures::learn(News what, uint32_t rank) {
  if (what == News::stopped) return learn_stopped(rank);
  const bool dead = what == News::dead;
  PeerState& peer = peers_[rank];
  if (peer.departed.load() || (rank == rank_ && dead)) return;
  if (dead) {
    if (memory_.bases()[rank] != nullptr && memory_.header(rank).state.load() == RankState::left)
      peer.left.store(true);
    declare_failed(rank, OMPL_ERR_PEER, "another rank has noticed it");
  } else if (!peer.torn.load()) {
    spread(News::torn, rank);
    peer.torn.store(true);
    int intact = OMPL_OK;
    world_.compare_exchange_strong(intact, OMPL_ERR_LINK);
    failure_events_.fetch_add(1);
  }
  // What the first rank of a node finds out of reach is so for the node.
  const uint32_t first = members_.first_of_node();
  if (!dead && rank_ != first && rank != rank_ && rank != first && peers_[first].torn.load() &&
      memory_.bases()[rank] == nullptr)
    declare_failed(rank, OMPL_ERR_LINK, "the first rank of this node does not reach it");
}

void Failures::learn_stopped(uint32_t rank) {
  if (peers_[rank].stopped.load()) return;
  spread(News::stopped, rank);
  some_stopped_.store(rank);
  peers_[rank].stopped.store(true);
}

void Failures::stop() { learn_stopped(rank_); }

void Failures::all_depart() {
  for (uint32_t rank = 0; rank < size_; ++rank) peers_[rank].departed.store(true);
}

void Failures::leave_early() {
  look_for_broken(0, size_);  // nobody else may be left to tell of what has come here
  look_at_news();
  peers_[rank_].left.store(true);
  spread(News::dead, rank_);
}

template <class Holds>
std::size_t Failures::list(std::span<uint32_t> lowest, Holds holds) const {
  std::size_t count = 0;
  for (uint32_t rank = 0; rank < size_; ++rank) {
    if (!holds(peers_[rank])) continue;
    if (count < lowest.size()) lowest[count] = rank;
    ++count;
  }
  return count;
}

std::size_t Failures::failed_ranks(std::span<uint32_t> lowest) const {
  return list(lowest, [](const PeerState& peer) { return peer.failure.load() != OMPL_OK; });
}

std::size_t Failures::stopped_ranks(std::span<uint32_t> lowest) {
  look_at_news();
  return list(lowest, [](const PeerState& peer) {
    return peer.stopped.load() && peer.failure.load() == OMPL_OK;
  });
}

// Also of what calls have reported and no look has found yet.
uint32_t Failures::acknowledge() {
  look_for_broken(0, size_);
  acknowledged_.store(failures_.load());
  return static_cast<uint32_t>(failed_ranks({}));
}

}  // namespace ompl
