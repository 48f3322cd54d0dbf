// SPDX-License-Identifier: BSD-3-Clause
// The endpoint pool: claims, progress, what arrives, replies.
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {
constexpr int kTurnBudget = 16;       // completions and records of one claim [3]
constexpr uint32_t kMostPauses = 64;  // of who finds its slot claimed again and again: 1 to 3 us
constexpr uint32_t kOthers = 4;       // every so manieth poll of a thread looks at others' slots too
}  // namespace

using conduit::Post;

// Gives what an endpoint receives to the network, with the slot it came in on.
class Network::Inbox final : public conduit::Sink {
 public:
  Inbox(Network& network, Slot& slot) : network_(network), slot_(slot) {}
  void signal(uint32_t source, const Signal& record) override {
    network_.receive(slot_, source, record);
  }

 private:
  Network& network_;
  Slot& slot_;
};

Network::Network(Runtime& runtime, conduit::Conduit& conduit, uint32_t slots)
    : runtime_(runtime),
      conduit_(conduit),
      capabilities_(conduit.capabilities()),
      hold_limit_(std::min(capabilities_.max_fused_put, CoalescedPut::kMost)),
      long_put_(capabilities_.segment != 0 ? kPaced * capabilities_.segment : SIZE_MAX),
      slots_(slots),
      sentinel_(&runtime.segment_.header().sentinel) {}

Network::~Network() {
  for (Slot& slot : slots_) {
    slot.endpoint.reset();
    if (slot.peers == nullptr) continue;
    for (uint32_t rank = 0; rank < runtime_.size(); ++rank) delete slot.peers[rank].load();
  }
  if (epoll_fd_ >= 0) ::close(epoll_fd_);
}

int Network::open(std::vector<Pool> pools) {
  pools_ = std::move(pools);
  epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd_ < 0) return fail(OMPL_ERR_SYSTEM, "epoll_create1: {}", error_text(errno));
  const auto watch = [this](int fd) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    return ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST;
  };
  all_have_descriptors_ = watch(runtime_.wake_pipe_[0]);
  for (uint32_t i = 0; i < slots(); ++i) {
    Slot& slot = slots_[i];
    slot.index = i;
    slot.peers = std::make_unique<std::atomic<SlotPeer*>[]>(runtime_.size());
    if (const int code = conduit_.endpoint(i, &slot.endpoint); code != OMPL_OK) return code;
    const int fd = slot.endpoint->descriptor();
    all_have_descriptors_ = all_have_descriptors_ && fd >= 0 && watch(fd);
  }
  return OMPL_OK;
}

// While a sentinel sleeps, whoever leaves a slot arms it: the sentinel could not [16].
void Network::arm_released(Slot& slot) {
  if (!try_claim(slot)) return;  // the new holder will come here too
  const bool armed = slot.endpoint->arm();
  slot.claimed.store(false, std::memory_order_seq_cst);
  if (!armed) runtime_.poke_sentinel(runtime_.rank());
}

// Deferred signals wait for what the endpoint's descriptor tells of: completions and credits.
bool Network::replies_due(Slot& slot) {
  return std::ranges::any_of(slot.pending_replies, [&](uint32_t rank) {
    const SlotPeer& to = slot_peer(slot, rank);
    return !to.replies.empty() || to.deferred.empty();
  });
}

void Network::wake_completions() { runtime_.wake_own_completions(); }

bool Network::arm_all() {
  bool quiet = true;
  for (Slot& slot : slots_) {
    if (!try_claim(slot)) continue;
    quiet = !replies_due(slot) && slot.endpoint->arm() && quiet;
    slot.claimed.store(false, std::memory_order_seq_cst);
  }
  return quiet;
}

// Two threads may make the same peer at once; one wins, and it stays until the end.
SlotPeer& Network::slot_peer(Slot& slot, uint32_t rank) {
  std::atomic<SlotPeer*>& place = slot.peers[rank];
  SlotPeer* existing = place.load(std::memory_order_acquire);
  if (existing != nullptr) return *existing;
  auto made = std::make_unique<SlotPeer>();
  if (place.compare_exchange_strong(existing, made.get(), std::memory_order_acq_rel))
    return *made.release();
  return *existing;
}

// Credits are those of the target's slot, which several of ours share if the target has fewer; they come back
// on our slot of that number.
std::atomic<uint32_t>& Network::credit_count(Slot& slot, uint32_t rank) {
  return slot_peer(slots_[slot.index % pools_[rank].slots], rank).in_flight;
}

bool Network::take_credit(Slot& slot, uint32_t rank) {
  slot_peer(slot, rank).used.store(true);
  if (capabilities_.stalls_sender) return true;
  std::atomic<uint32_t>& in_flight = credit_count(slot, rank);
  if (in_flight.fetch_add(1) < pools_[rank].credits) return true;
  in_flight.fetch_sub(1);
  return false;
}

void Network::give_credit(Slot& slot, uint32_t rank) {
  if (!capabilities_.stalls_sender) credit_count(slot, rank).fetch_sub(1);
}

Post Network::send_record(Slot& slot, uint32_t rank, const Signal& record) {
  if (!take_credit(slot, rank)) return kNoCredit;
  const Post result = slot.endpoint->signal(rank, record);
  if (result.state != Post::State::done) give_credit(slot, rank);
  return result;
}

bool Network::visit(Slot& slot, bool* found) {
  if (!try_claim(slot)) return false;
  *found = turn(slot) > 0 || *found;
  release(slot);
  // Who polls without end gives way: where a conduit yields inside, others would only ever find it claimed.
  if (slot.wanted.load(std::memory_order_relaxed)) {
    slot.wanted.store(false, std::memory_order_relaxed);
    ::sched_yield();
  }
  return true;
}

// Threads that take turns on a slot cost each other far more than a look at it.
void Network::visit_neglected(Context& c, uint32_t index, bool* found) {
  Slot& slot = slots_[index];
  uint32_t& seen = c.seen_turns[index];
  if (slot.turns.load(std::memory_order_relaxed) == seen) visit(slot, found);
  seen = slot.turns.load(std::memory_order_relaxed);
}

bool Network::progress(Context& c, uint32_t first) {
  bool found = false;
  if (visit(slots_[first], &found)) {
    c.stand_back = 1;
  } else {
    // Whoever has it is mostly in a system call, and the more threads ask for a claim the longer it takes to pass on.
    for (uint32_t i = 0; i < c.stand_back; ++i) arch::pause();
    c.stand_back = std::min(2 * c.stand_back, kMostPauses);
  }
  if (slots() > 1 && c.polls++ % kOthers == 0) {
    c.seen_turns.resize(slots());
    if (first != c.preferred_slot) visit_neglected(c, c.preferred_slot, &found);
    visit_neglected(c, c.next_slot++ % slots(), &found);
  }
  if (found) wake_completions();
  return found;
}

void Network::note_arrival(Context& c, uint64_t flag) {
  const auto came_in = [flag](const Slot& slot) {
    return slot.last_flag.load(std::memory_order_relaxed) == flag;
  };
  if (came_in(slots_[c.arrival_slot])) return;
  const auto found = std::ranges::find_if(slots_, came_in);
  if (found != slots_.end()) c.arrival_slot = found->index;
}

int Network::turn(Slot& slot) {
  slot.turns.store(slot.turns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  Inbox inbox(*this, slot);
  const int found = slot.endpoint->progress(inbox, kTurnBudget);
  if (!slot.pending_replies.empty()) flush_replies(slot);
  return found;
}

// `source` and `record` are outside bytes.
void Network::receive(Slot& slot, uint32_t source, const Signal& record) {
  if (source >= runtime_.size()) {
    log::warn("dropped a record of rank {}: there are only {} ranks", source, runtime_.size());
    return;
  }
  SlotPeer& from = slot_peer(slot, source);
  switch (record.op) {
    case SignalOp::credit:
      from.in_flight.fetch_sub(std::min(static_cast<uint32_t>(record.value), from.in_flight.load()));
      return;
    case SignalOp::ack:
      if (record.offset < slots()) {
        std::atomic<uint64_t>& answered = slot_peer(slots_[record.offset], source).acknowledged;
        uint64_t known = answered.load();
        while (known < record.value && !answered.compare_exchange_weak(known, record.value)) {
        }
      }
      return;
    case SignalOp::reply:
      fetches_.answer(source, record);
      return;
    case SignalOp::ack_request:
      from.replies.push_back({.offset = record.offset, .value = record.value, .op = SignalOp::ack});
      break;
    default: {
      slot.last_flag.store(record.offset, std::memory_order_relaxed);
      uint64_t before = 0;
      const bool applied = runtime_.apply(record, slot.flag, &before);
      if (record.token != 0)
        from.replies.push_back({.offset = applied ? 0U : 1U,
                                .value = before,
                                .token = record.token,
                                .op = SignalOp::reply});
    }
  }
  ++from.consumed;
  note_pending_reply(slot, source);
}

// Whoever progresses the slot next sees to what its peer `rank` has to send.
void Network::note_pending_reply(Slot& slot, uint32_t rank) {
  SlotPeer& to = slot_peer(slot, rank);
  if (to.reply_pending) return;
  to.reply_pending = true;
  slot.pending_replies.push_back(rank);
}

void Network::flush_replies(Slot& slot) {
  std::erase_if(slot.pending_replies, [this, &slot](uint32_t rank) { return flush_reply(slot, rank); });
}

// False: some wait for their data, or found no room.
bool Network::send_deferred(Slot& slot, uint32_t rank) {
  SlotPeer& to = slot_peer(slot, rank);
  while (!to.deferred.empty()) {
    const SlotPeer::Deferred& next = to.deferred.front();
    if (slot.endpoint->completed(rank) < next.ticket) return false;
    if (send_record(slot, rank, next.record).state == Post::State::retry) return false;
    to.deferred.pop_front();
  }
  return true;
}

int Network::fate(const Slot& slot, uint32_t rank) const {
  if (const int broken = failure_of(*slot.endpoint, rank); broken != OMPL_OK) return broken;
  // The answer comes from the target's slot, which may talk to another one of ours [12].
  return failure_of(*slots_[slot.index % pools_[rank].slots % slots()].endpoint, rank);
}

int Network::failure_of(const conduit::Endpoint& endpoint, uint32_t rank) const {
  const int code = endpoint.failure(rank);
  if (code == OMPL_OK) return code;
  said(rank, code);
  return fail_quietly(code, fmt::format("nothing reaches rank {}: {}", rank, endpoint.reason(rank)));
}

int Network::said(uint32_t rank, int code) const {
  if (runtime_.peers_[rank].departed.load()) return code;
  for (const Broken& broken : broken_peers(rank, 1)) runtime_.say_failed(rank, broken.code, broken.why);
  return code;
}

// True if nothing is left to send to `rank` that is due. What cannot be sent at once stays [3].
bool Network::flush_reply(Slot& slot, uint32_t rank) {
  SlotPeer& to = slot_peer(slot, rank);
  const auto refused = [&slot, rank](const Signal& reply) {
    return slot.endpoint->signal(rank, reply).state == Post::State::retry;
  };
  while (!to.replies.empty()) {
    if (refused(to.replies.front())) return false;
    to.replies.erase(to.replies.begin());
  }
  const uint32_t batch = std::max(1U, pools_[runtime_.rank()].credits / 2);
  if (to.consumed >= batch && !capabilities_.stalls_sender) {
    if (refused({.offset = 0, .value = to.consumed, .op = SignalOp::credit})) return false;
    to.consumed = 0;
  }
  if (!send_deferred(slot, rank)) return false;
  to.reply_pending = false;
  return true;
}

std::vector<Network::Broken> Network::broken_peers(uint32_t first, uint32_t count) const {
  std::vector<Broken> broken;
  const uint32_t end = first + std::min(count, runtime_.size() - first);
  for (uint32_t rank = first; rank < end; ++rank) {
    const conduit::Endpoint* failed = nullptr;
    int code = OMPL_OK;
    bool departed = false;
    for (const Slot& slot : slots_) {
      const int found = slot.endpoint->loss(rank);
      if (found == OMPL_OK) continue;
      departed = departed || slot.endpoint->departed(rank);
      if (code == OMPL_ERR_PEER) continue;
      failed = slot.endpoint.get();
      code = found;
    }
    if (failed != nullptr && !departed) broken.push_back({rank, code, failed->reason(rank)});
  }
  return broken;
}

std::string Network::describe() const {
  std::string text;
  for (const Slot& slot : slots_) {
    text += fmt::format("  endpoint {} ({}): {}{}\n", slot.index, conduit_.name(),
                        slot.claimed ? "claimed; " : "", slot.endpoint->describe());
  }
  return text;
}

}  // namespace ompl
