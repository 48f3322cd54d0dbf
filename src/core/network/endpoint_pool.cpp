// SPDX-License-Identifier: BSD-3-Clause
#include "core/network/endpoint_pool.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "arch/cancellation.hpp"
#include "arch/give_way.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {
constexpr std::size_t kReplies =
    8;  // to one rank that need no memory: a request whose reply finds none is lost
constexpr int kTurnBudget = 16;       // completions and records of one claim [3]
constexpr uint32_t kMostPauses = 64;  // of who finds its slot claimed again and again: 1 to 3 us
constexpr uint32_t kOthers = 4;       // every so manieth poll of a thread looks at others' slots too

// So that one more needs no memory.
void make_room(std::vector<Signal>* replies) {
  if (replies->size() == replies->capacity()) replies->reserve(2 * replies->size() + 1);
}
}  // namespace

using conduit::Post;

// Gives what an endpoint receives to the pool, with the slot it came in on.
class EndpointPool::Inbox final : public conduit::Sink {
 public:
  Inbox(EndpointPool& pool, Slot& slot) : pool_(pool), slot_(slot) {}
  void signal(uint32_t source, const Signal& record) override { pool_.receive(slot_, source, record); }

 private:
  EndpointPool& pool_;
  Slot& slot_;
};

EndpointPool::EndpointPool(const Membership& members, Sleepers& sleepers, Failures& failures,
                           conduit::Conduit& conduit, uint32_t slots)
    : ranks_(members.size()),
      rank_(members.rank()),
      sleepers_(sleepers),
      failures_(failures),
      conduit_(conduit),
      capabilities_(conduit.capabilities()),
      slots_(slots),
      sentinel_(sleepers.sentinel()) {}

EndpointPool::~EndpointPool() {
  for (Slot& slot : slots_) {
    slot.endpoint.reset();
    slot.peers.reset();
  }
  if (epoll_fd_ >= 0) ::close(epoll_fd_);
}

int EndpointPool::open(std::vector<Pool> pools) {
  pools_ = std::move(pools);
  epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_fd_ < 0) return fail(OMPL_ERR_SYSTEM, "epoll_create1: {}", error_text(errno));
  const auto watch = [this](int fd) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    return ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0 || errno == EEXIST;
  };
  all_have_descriptors_ = watch(sleepers_.pipe_reader());
  for (uint32_t i = 0; i < size(); ++i) {
    Slot& slot = slots_[i];
    slot.index = i;
    slot.pending_replies.reserve(ranks_);
    slot.postponed.reserve(Slot::kPostponed);
    slot.peers = std::make_unique<SparseTable<SlotPeer>>(ranks_);
    if (const int code = conduit_.endpoint(i, &slot.endpoint); code != OMPL_OK) return code;
    const int fd = slot.endpoint->descriptor();
    all_have_descriptors_ = all_have_descriptors_ && fd >= 0 && watch(fd);
  }
  return OMPL_OK;
}

// While a sentinel sleeps, whoever leaves a slot arms it: the sentinel could not [16]. The progress thread is sent away instead,
// once, and looks again by and by: arming at each operation would cost the program a system call each.
void EndpointPool::arm_released(Slot& slot) noexcept {
  auto holder = SentinelRole::progress_thread;
  if (sentinel_.compare_exchange_strong(holder, SentinelRole::none, std::memory_order_seq_cst))
    return sleepers_.poke_sentinel(rank_);
  if (holder == SentinelRole::none) return;
  const arch::Uncancelled whole;
  if (!slot.try_claim()) return;  // the new holder will come here too
  const bool armed = try_arm(slot);
  slot.claimed.store(false, std::memory_order_seq_cst);
  if (!armed) sleepers_.poke_sentinel(rank_);
}

// Deferred signals wait for what the endpoint's descriptor tells of: completions and credits.
// Without memory it is not armed.
bool EndpointPool::try_arm(Slot& slot) {
  try {
    return slot.endpoint->arm();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool EndpointPool::replies_due(Slot& slot) {
  return std::ranges::any_of(slot.pending_replies, [&](uint32_t rank) {
    const SlotPeer& to = peer(slot, rank);
    return !to.replies.empty() || to.deferred.empty();
  });
}

void EndpointPool::wake_completions() { sleepers_.wake_own_completions(); }

void EndpointPool::hand_on() {
  wake_completions();
  if (sleepers_.call_arrivals.any()) sleepers_.wake_any(rank_);
}

bool EndpointPool::arm_all() {
  bool quiet = true;
  for (Slot& slot : slots_) {
    if (!slot.try_claim()) continue;
    quiet = !replies_due(slot) && try_arm(slot) && quiet;
    slot.claimed.store(false, std::memory_order_seq_cst);
  }
  return quiet;
}

SlotPeer& EndpointPool::peer(Slot& slot, uint32_t rank) {
  return slot.peers->at(rank, [] {
    auto made = std::make_unique<SlotPeer>();
    made->replies.reserve(kReplies);
    return made;
  });
}

// Credits are those of the target's slot, which several of ours share if the target has fewer; they come back
// on our slot of that number.
std::atomic<uint32_t>& EndpointPool::credit_count(Slot& slot, uint32_t rank) {
  return peer(slots_[slot.index % pools_[rank].slots], rank).in_flight;
}

bool EndpointPool::take_credit(Slot& slot, uint32_t rank) {
  peer(slot, rank).used.store(true);
  if (capabilities_.stalls_sender) return true;
  std::atomic<uint32_t>& in_flight = credit_count(slot, rank);
  if (in_flight.fetch_add(1) < pools_[rank].credits) return true;
  in_flight.fetch_sub(1);
  return false;
}

void EndpointPool::give_credit(Slot& slot, uint32_t rank) {
  if (!capabilities_.stalls_sender) credit_count(slot, rank).fetch_sub(1);
}

bool EndpointPool::claim(Context& c, Slot& slot) {
  if (slot.try_claim()) return true;
  ++c.statistics.failed_claims;
  slot.wanted.store(true, std::memory_order_relaxed);
  return false;
}

Post EndpointPool::send_record(Slot& slot, uint32_t rank, const Signal& record) {
  Credit credit(*this, slot, rank);
  if (!credit.taken()) return kNoCredit;
  const Post result = slot.endpoint->signal(rank, record);
  if (result.state == Post::State::done) credit.keep();
  return result;
}

bool EndpointPool::visit(Slot& slot, bool* found) {
  if (!slot.try_claim()) return false;
  {
    const Claim claimed(*this, slot);
    *found = turn(slot) > 0 || *found;
  }
  // Who polls without end gives way: where a conduit yields inside, others would only ever find it claimed.
  if (slot.wanted.load(std::memory_order_relaxed)) {
    slot.wanted.store(false, std::memory_order_relaxed);
    arch::give_way();
  }
  return true;
}

// Threads that take turns on a slot cost each other far more than a look at it.
void EndpointPool::visit_neglected(Context& c, uint32_t index, bool* found) {
  Slot& slot = slots_[index];
  uint32_t& seen = c.seen_turns[index];
  if (slot.turns.load(std::memory_order_relaxed) == seen) visit(slot, found);
  seen = slot.turns.load(std::memory_order_relaxed);
}

bool EndpointPool::progress(Context& c, uint32_t first) {
  const arch::Uncancelled whole;
  bool found = false;
  if (visit(slots_[first], &found)) {
    c.stand_back = 1;
  } else {
    // Whoever has it is mostly in a system call, and the more threads ask for a claim the longer it takes to pass on.
    for (uint32_t i = 0; i < c.stand_back; ++i) arch::pause();
    c.stand_back = std::min(2 * c.stand_back, kMostPauses);
  }
  if (size() > 1 && c.polls++ % kOthers == 0) {
    c.seen_turns.resize(size());
    if (first != c.preferred_slot) visit_neglected(c, c.preferred_slot, &found);
    visit_neglected(c, c.next_slot++ % size(), &found);
  }
  if (found) wake_completions();
  return found;
}

EndpointPool::Tended EndpointPool::tend(Context& c) {
  Tended tended;
  c.seen_turns.resize(size());
  for (Slot& slot : slots_) {
    uint32_t& seen = c.seen_turns[slot.index];
    if (slot.turns.load(std::memory_order_relaxed) != seen || !visit(slot, &tended.found))
      tended.busy = true;
    seen = slot.turns.load(std::memory_order_relaxed);
  }
  if (tended.found) wake_completions();
  return tended;
}

void EndpointPool::note_arrival(Context& c, uint64_t flag) {
  const auto came_in = [flag](const Slot& slot) {
    return slot.last_flag.load(std::memory_order_relaxed) == flag;
  };
  if (came_in(slots_[c.arrival_slot])) return;
  const auto found = std::ranges::find_if(slots_, came_in);
  if (found != slots_.end()) c.arrival_slot = found->index;
}

int EndpointPool::turn(Slot& slot) {
  slot.turns.store(slot.turns.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (has_news_.load(std::memory_order_relaxed)) [[unlikely]] {
    if (is_severed_.load()) return 0;
    if (slot.index == 0) take_up_news(slot);
    if (!catch_up(slot)) return 0;
  }
  Inbox inbox(*this, slot);
  const int found = slot.endpoint->progress(inbox, kTurnBudget);
  if (!slot.pending_replies.empty()) flush_replies(slot);
  return found;
}

// What cannot be carried out for want of memory is kept, with all that comes behind it but what needs no order: only the
// answer to an ack_request speaks of other records.
void EndpointPool::receive(Slot& slot, uint32_t source, const Signal& record) try {
  if (record.op == SignalOp::ack_request && !slot.postponed.empty())
    return postpone(slot, source, record);
  carry_out(slot, source, record);
} catch (const std::bad_alloc&) {
  postpone(slot, source, record);
}

void EndpointPool::postpone(Slot& slot, uint32_t source, const Signal& record) noexcept {
  if (slot.postponed.size() ==
      Slot::kPostponed) {  // some conduits give more at once than they are asked for
    overwhelmed_.store(true);
    return;
  }
  slot.postponed.emplace_back(source, record);
  if (slot.postponed.size() == 1) postponing_.fetch_add(1);
  has_news_.store(true);
}

// False: there still is no memory for some.
bool EndpointPool::catch_up(Slot& slot) {
  if (slot.postponed.empty()) return true;
  std::size_t done = 0;
  try {
    for (; done < slot.postponed.size(); ++done)
      carry_out(slot, slot.postponed[done].first, slot.postponed[done].second);
  } catch (const std::bad_alloc&) {  // later
  }
  slot.postponed.erase(slot.postponed.begin(),
                       slot.postponed.begin() + static_cast<std::ptrdiff_t>(done));
  if (!slot.postponed.empty()) return false;
  postponing_.fetch_sub(1);
  note_work();
  return true;
}

// `source` and `record` are outside bytes. Without memory it throws and has changed nothing.
void EndpointPool::carry_out(Slot& slot, uint32_t source, const Signal& record) {
  if (source >= ranks_) {
    log::warn("dropped a record of rank {}: there are only {} ranks", source, ranks_);
    return;
  }
  SlotPeer& from = peer(slot, source);
  switch (record.op) {
    case SignalOp::credit:
      from.in_flight.fetch_sub(std::min(static_cast<uint32_t>(record.value), from.in_flight.load()));
      return;
    case SignalOp::ack:
      if (record.offset < size()) {
        std::atomic<uint64_t>& answered = peer(slots_[record.offset], source).acknowledged;
        uint64_t known = answered.load();
        while (known < record.value && !answered.compare_exchange_weak(known, record.value)) {
        }
      }
      return;
    case SignalOp::reply:
      fetches_.answer(source, record);
      return;
    case SignalOp::news:
      failures_.hear(record);
      return;
    case SignalOp::ack_request:
      from.replies.push_back({.offset = record.offset, .value = record.value, .op = SignalOp::ack});
      break;
    default: {
      if (record.token != 0) make_room(&from.replies);
      slot.last_flag.store(record.offset, std::memory_order_relaxed);
      uint64_t before = 0;
      const bool applied = sleepers_.apply(record, slot.flag, &before);
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
void EndpointPool::note_pending_reply(Slot& slot, uint32_t rank) {
  SlotPeer& to = peer(slot, rank);
  if (to.reply_pending) return;
  to.reply_pending = true;
  slot.pending_replies.push_back(rank);
}

bool EndpointPool::may_defer(Slot& slot, uint32_t rank) {
  return peer(slot, rank).deferred.size() < pools_[rank_].credits;
}

void EndpointPool::tell(const Signal& news, std::span<const uint32_t> ranks) {
  {
    const std::scoped_lock lock(news_mutex_);
    news_.reserve(news_.size() + ranks.size());
    for (const uint32_t rank : ranks) news_.emplace_back(rank, news);
  }
  note_work();
}

// What finds no memory is taken up later.
void EndpointPool::take_up_news(Slot& slot) {
  {
    const std::scoped_lock lock(news_mutex_);
    std::size_t taken = 0;
    try {
      for (; taken < news_.size(); ++taken) {
        const auto& [rank, news] = news_[taken];
        peer(slot, rank).replies.push_back(news);
        note_pending_reply(slot, rank);
      }
    } catch (const std::bad_alloc&) {
    }
    news_.erase(news_.begin(), news_.begin() + static_cast<std::ptrdiff_t>(taken));
  }
  note_work();
}

// Whether turns have more to do than progress.
void EndpointPool::note_work() {
  const std::scoped_lock lock(news_mutex_);
  has_news_.store(!news_.empty() || is_severed_.load());
  if (postponing_.load() != 0) has_news_.store(true);
}

bool EndpointPool::all_told() {
  if (is_severed_.load()) return true;
  if (has_news_.load()) return false;
  Slot& slot = slots_.front();
  if (!slot.try_claim()) return false;
  const bool told = std::ranges::all_of(
      slot.pending_replies, [&](uint32_t rank) { return peer(slot, rank).replies.empty(); });
  release(slot);
  return told;
}

void EndpointPool::flush_replies(Slot& slot) {
  std::erase_if(slot.pending_replies, [this, &slot](uint32_t rank) { return flush_reply(slot, rank); });
}

// False: some wait for their data, or found no room.
bool EndpointPool::send_deferred(Slot& slot, uint32_t rank) {
  SlotPeer& to = peer(slot, rank);
  while (!to.deferred.empty()) {
    const SlotPeer::Deferred& next = to.deferred.front();
    if (slot.endpoint->completed(rank) < next.ticket) return false;
    try {
      if (send_record(slot, rank, next.record).state == Post::State::retry) return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
    to.deferred.pop_front();
  }
  return true;
}

// Deferred signals go before it. Nothing is asked if the last question covers all: who tries again and again within short
// time limits must not fill the queue with questions.
Post EndpointPool::ask(Slot& slot, uint32_t rank) {
  if (!send_deferred(slot, rank)) return kNoCredit;
  SlotPeer& shared = peer(slot, rank);
  if (shared.asked != 0 && shared.covered == shared.sent) return {};
  const Post result = send_record(
      slot, rank, {.offset = slot.index, .value = shared.asked + 1, .op = SignalOp::ack_request});
  if (result.state == Post::State::done) {
    ++shared.asked;
    shared.covered = shared.sent;
  }
  return result;
}

// Without memory for what it needs, a connection say, it stays, as what finds no room does.
Post EndpointPool::send_reply(Slot& slot, uint32_t rank, const Signal& record) {
  try {
    return slot.endpoint->signal(rank, record);
  } catch (const std::bad_alloc&) {
    return kNoCredit;
  }
}

// True if nothing is left to send to `rank` that is due. What cannot be sent at once stays [3].
bool EndpointPool::flush_reply(Slot& slot, uint32_t rank) {
  SlotPeer& to = peer(slot, rank);
  const auto refused = [&slot, rank](const Signal& reply) {
    return send_reply(slot, rank, reply).state == Post::State::retry;
  };
  while (!to.replies.empty()) {
    if (refused(to.replies.front())) return false;
    to.replies.erase(to.replies.begin());
  }
  const uint32_t batch = std::max(1U, pools_[rank_].credits / 2);
  if (to.consumed >= batch && !capabilities_.stalls_sender) {
    if (refused({.offset = 0, .value = to.consumed, .op = SignalOp::credit})) return false;
    to.consumed = 0;
  }
  if (!send_deferred(slot, rank)) return false;
  to.reply_pending = false;
  return true;
}

std::string EndpointPool::describe() const {
  std::string text;
  for (const Slot& slot : slots_) {
    text += fmt::format("  endpoint {} ({}): {}{}\n", slot.index, conduit_.name(),
                        slot.claimed ? "claimed; " : "", slot.endpoint->describe());
  }
  return text;
}

}  // namespace ompl
