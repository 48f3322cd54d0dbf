// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/mock/link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ompl::conduit::mock {
namespace {

// Acknowledgements and returned credits answer requests that were credited; they take no credit.
bool is_credited(SignalOp op) { return op <= SignalOp::ack_request; }

void bump(std::atomic<uint64_t>& counter, uint64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}

std::vector<Fault> faults_of(const Hostility& hostility, uint32_t rank, uint32_t slot, uint32_t peer) {
  std::vector<Fault> mine;
  for (const Fault& fault : hostility.faults)
    if (fault.rank == rank && fault.slot == slot && fault.peer == peer) mine.push_back(fault);
  return mine;
}

}  // namespace

MockLink::MockLink(Wire& wire, uint32_t source, uint32_t slot, uint32_t target, Port& from, Port& to)
    : wire_(wire),
      source_(source),
      slot_(slot),
      target_(target),
      from_(from),
      to_(to),
      faults_(faults_of(wire.hostility(), source, slot, target)),
      dice_({wire.hostility().seed, source, slot, target}) {}

// ------------------------------------------------------------------------------------------------
// Posting

void MockLink::check(const MockOperation& op) const {
  const Hostility& hostility = wire_.hostility();
  if (op.kind == MockOperation::Kind::signal) return;
  if (op.left == 0 || op.left > hostility.max_message)
    wire_.violation(
        fmt::format("a post of {} bytes; 1 to {} are allowed", op.left, hostility.max_message));
  if (wire_.memory(target_).find(op.offset, op.left) == nullptr)
    wire_.violation(fmt::format("rank {} posts [{}, +{}) of rank {}, which is not registered there",
                                source_, op.offset, op.left, target_));
}

void MockLink::strike() {
  for (const Fault& fault : faults_) {
    if (posted_ < fault.after) continue;
    if (fault.kind == Fault::Kind::break_endpoint) from_.break_now();
    if (broken_ == OMPL_OK) broken_ = fault.code;
    if (fault.kind == Fault::Kind::fail_post) fail_now();
  }
  std::erase_if(faults_, [posted = posted_](const Fault& fault) { return posted >= fault.after; });
}

// Why the post cannot be taken; state done if it can.
Post MockLink::refuse() {
  const Hostility& hostility = wire_.hostility();
  strike();
  if (failure_.load(std::memory_order_relaxed) != OMPL_OK) {
    bump(wire_.counts().refused_dead);
    return {.state = Post::State::failed, .code = failure_.load(std::memory_order_relaxed)};
  }
  Post::Reason reason = Post::Reason::none;
  if (state_ != State::open) {
    if (state_ == State::idle) {
      state_ = State::requested;
      accept_delay_ = dice_.up_to(hostility.connect_delay);
      to_.wake_event.notify();
    }
    reason = Post::Reason::connecting;
  } else if (is_full()) {
    reason = Post::Reason::queue_full;
  } else if (dice_.one_in(hostility.spurious_retry)) {
    reason = Post::Reason::no_memory;
  }
  refused_ = reason == Post::Reason::connecting || reason == Post::Reason::queue_full;
  if (reason == Post::Reason::none) return {};
  bump(wire_.counts().retried);
  return {.state = Post::State::retry, .reason = reason};
}

Post MockLink::post(MockOperation op) {
  const bool is_data = op.kind != MockOperation::Kind::signal;
  const Post answer = enqueue(std::move(op));
  const bool is_posted = answer.state == Post::State::done || answer.state == Post::State::pending;
  if (is_data && is_posted) wire_.data_posted();
  return answer;
}

Post MockLink::enqueue(MockOperation op) {
  const Hostility& hostility = wire_.hostility();
  const Lock lock(mutex_);
  Post answer = refuse();
  if (answer.state != Post::State::done) return answer;
  check(op);

  const bool is_get = op.kind == MockOperation::Kind::get;
  const bool is_signal = op.kind == MockOperation::Kind::signal;
  if (op.kind == MockOperation::Kind::put && op.left <= hostility.inline_limit) {
    op.copy.assign(op.local, op.local + op.left);
    op.held = false;
  }
  if (hostility.remote_completion || op.held || dice_.one_in(2)) answer.ticket = op.ticket = ++ticket_;
  if (op.held) answer.state = Post::State::pending;
  if (!hostility.remote_completion && !op.held && op.ticket != 0) {
    finish(op.ticket);  // the source may be reused: nothing more is promised
    op.ticket = 0;
  }
  if (is_signal && is_credited(op.record.op) &&
      records_.fetch_add(1, std::memory_order_relaxed) >= hostility.receive_depth &&
      !hostility.stalls_sender)
    wire_.violation(fmt::format("rank {} slot {} overflows the receive queue of rank {} ({} records)",
                                source_, slot_, target_, hostility.receive_depth));
  op.delay = dice_.up_to(is_get ? 2 * hostility.delivery_delay : hostility.delivery_delay);
  ++posted_;
  bump(wire_.counts().posted);
  if (!is_signal) bump(wire_.counts().posted_data);
  queue_.push_back(std::move(op));
  to_.wake_event.notify();
  return answer;
}

// ------------------------------------------------------------------------------------------------
// Carrying

// Moves a random part of what is left, the end first: who polls the last byte is shown a torn message.
void MockLink::move_data(MockOperation& op) {
  const bool tear = wire_.hostility().scramble && op.left > 1 && dice_.one_in(4);
  const std::size_t length = tear ? 1 + dice_.up_to(op.left - 1) : op.left;
  std::byte* const remote = wire_.memory(target_).find(op.offset, op.left);
  if (remote == nullptr)
    wire_.violation(fmt::format("rank {} released [{}, +{}) under an operation of rank {}", target_,
                                op.offset, op.left, source_));
  op.left -= length;
  if (op.kind == MockOperation::Kind::get) {
    std::memcpy(op.local + op.left, remote + op.left, length);
  } else {
    const std::byte* const local = op.copy.empty() ? op.local : op.copy.data();
    std::memcpy(remote + op.left, local + op.left, length);
  }
}

// Carries the operation out, if it can be; true once it is done.
bool MockLink::move(MockOperation& op) {
  if (op.kind == MockOperation::Kind::signal) {
    const Hostility& hostility = wire_.hostility();
    return to_.push(*this, op.record, hostility.stalls_sender ? hostility.receive_depth : SIZE_MAX);
  }
  move_data(op);
  if (op.left > 0) return false;
  bump(wire_.counts().moved);
  return true;
}

// Whether the contract allows the operation to happen now, given what is still ahead of it.
bool MockLink::may_move(MockOperation& op, bool put_ahead, bool record_ahead) {
  const Hostility& hostility = wire_.hostility();
  if (op.delay > 0) {
    --op.delay;
    return false;
  }
  if (op.kind != MockOperation::Kind::signal) {
    const bool unstaged =
        op.kind == MockOperation::Kind::put && op.held && !hostility.remote_completion;
    return !unstaged && !(hostility.ordered_puts && put_ahead);
  }
  return !(hostility.ordered_signals && put_ahead) &&
         !(op.record.op == SignalOp::ack_request && record_ahead);
}

int MockLink::carry(int budget) {
  const Hostility& hostility = wire_.hostility();
  const Lock lock(mutex_);
  if (broken_ != OMPL_OK) return 0;
  int moved = 0;
  bool put_ahead = false;
  bool record_ahead = false;
  for (auto op = queue_.begin(); op != queue_.end() && moved < budget;) {
    const bool is_signal = op->kind == MockOperation::Kind::signal;
    const bool free = may_move(*op, put_ahead, record_ahead);
    if (free && move(*op)) {
      if (op->ticket != 0) finish(op->ticket);
      op = queue_.erase(op);
      ++moved;
      continue;
    }
    const bool stalled = is_signal && free;  // and everything behind it
    if (stalled || !hostility.scramble) break;
    put_ahead |= op->kind == MockOperation::Kind::put;
    record_ahead |= is_signal;
    ++op;
  }
  return moved;
}

// ------------------------------------------------------------------------------------------------
// Completing

void MockLink::finish(uint64_t ticket) {
  finished_.push_back({ticket, dice_.up_to(wire_.hostility().completion_delay)});
  from_.wake_event.notify();
}

// Copies sources that are in use, so that the puts complete locally long before they are delivered.
int MockLink::stage() {
  int staged = 0;
  for (MockOperation& op : queue_) {
    if (op.kind != MockOperation::Kind::put || !op.held || dice_.one_in(2)) continue;
    op.copy.assign(op.local, op.local + op.left);
    op.held = false;
    finish(op.ticket);
    op.ticket = 0;
    to_.wake_event.notify();
    ++staged;
  }
  return staged;
}

int MockLink::take_completions(int budget) {
  int taken = 0;
  for (auto finished = finished_.begin(); finished != finished_.end() && taken < budget;) {
    if (finished->delay > 0) {
      --finished->delay;
      ++finished;
      continue;
    }
    done_.insert(finished->ticket);
    finished = finished_.erase(finished);
    ++taken;
  }
  uint64_t up_to = completed_.load(std::memory_order_relaxed);
  while (!done_.empty() && *done_.begin() == up_to + 1) {
    done_.erase(done_.begin());
    ++up_to;
  }
  completed_.store(up_to, std::memory_order_release);
  return taken;
}

int MockLink::advance(int budget) {
  const Lock lock(mutex_);
  if (failure_.load(std::memory_order_relaxed) != OMPL_OK) return 0;
  if (broken_ != OMPL_OK) {
    if (dice_.one_in(2)) fail_now();
    return 1;
  }
  if (state_ == State::accepted) {
    state_ = State::open;
    return 1;
  }
  const int staged = wire_.hostility().remote_completion ? 0 : stage();
  return staged + take_completions(budget - std::min(staged, budget));
}

void MockLink::learn() {
  const Lock lock(mutex_);
  if (broken_ != OMPL_OK && failure_.load(std::memory_order_relaxed) == OMPL_OK) fail_now();
}

bool MockLink::takes_what_it_refused() {
  const Lock lock(mutex_);
  return refused_ && failure_.load(std::memory_order_relaxed) == OMPL_OK && state_ == State::open &&
         !is_full();
}

bool MockLink::initiator_has_work() {
  const Hostility& hostility = wire_.hostility();
  const Lock lock(mutex_);
  if (failure_.load(std::memory_order_relaxed) != OMPL_OK) return false;
  const auto unstaged = [](const MockOperation& op) {
    return op.kind == MockOperation::Kind::put && op.held;
  };
  return broken_ != OMPL_OK || state_ == State::accepted || !finished_.empty() ||
         (hostility.passive_target && !queue_.empty()) ||
         (!hostility.remote_completion && std::any_of(queue_.begin(), queue_.end(), unstaged));
}

// ------------------------------------------------------------------------------------------------
// Connecting and failing

void MockLink::accept() {
  const Lock lock(mutex_);
  if (broken_ != OMPL_OK || state_ != State::requested) return;
  if (accept_delay_ > 0) {
    --accept_delay_;
    return;
  }
  state_ = State::accepted;
  from_.wake_event.notify();
}

bool MockLink::target_has_work() {
  const Lock lock(mutex_);
  if (broken_ != OMPL_OK) return false;
  return state_ == State::requested || !queue_.empty();
}

void MockLink::record_taken(const Signal& record) {
  if (is_credited(record.op)) records_.fetch_sub(1, std::memory_order_relaxed);
  bump(wire_.counts().records);
}

void MockLink::drop() {
  bump(wire_.counts().dropped, queue_.size());
  queue_.clear();
  finished_.clear();
  done_.clear();
}

// failure() is set before completed() moves: who sees the second sees the first.
void MockLink::fail_now() {
  drop();
  failure_.store(broken_, std::memory_order_release);
  completed_.store(ticket_, std::memory_order_release);
}

void MockLink::fail(int code) {
  const Lock lock(mutex_);
  if (broken_ == OMPL_OK) broken_ = code;
  if (failure_.load(std::memory_order_relaxed) == OMPL_OK) fail_now();
}

void MockLink::break_now(int code) {
  const Lock lock(mutex_);
  if (broken_ == OMPL_OK) broken_ = code;
  from_.wake_event.notify();
  to_.wake_event.notify();
}

void MockLink::target_departs() {
  departed_.store(true, std::memory_order_release);
  break_now(OMPL_ERR_LINK);
}

std::string MockLink::describe() {
  const Lock lock(mutex_);
  return fmt::format("{}.{}->{} {}: {} posted, {} queued, {} finished, ticket {} of {}, failure {}",
                     source_, slot_, target_, state_ == State::open ? "open" : "not open", posted_,
                     queue_.size(), finished_.size(), completed(), ticket_, failure());
}

}  // namespace ompl::conduit::mock
