// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/mock/wire.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "conduit/mock/link.hpp"

namespace ompl::conduit::mock {

std::string Hostility::describe() const {
  return fmt::format(
      "mock seed {}: passive_target {}, ordered_signals {}, remote_completion {}, stalls_sender {}, "
      "max_message {}, segment {}/{}, send_depth {}, receive_depth {}, delays {}/{}/{}, scramble {}, "
      "descriptor {}, faults {}",
      seed, passive_target, ordered_signals, remote_completion, stalls_sender, max_message, segment,
      stripes, send_depth, receive_depth, delivery_delay, completion_delay, connect_delay, scramble,
      descriptor, faults.size());
}

// ------------------------------------------------------------------------------------------------
// Memory

void Memory::open(std::byte* base, std::size_t capacity) {
  const Lock lock(mutex_);
  base_ = base;
  capacity_ = capacity;
  ranges_.clear();
}

// Removes [begin, end) from the ranges, cutting those that reach across its ends.
void Memory::erase(uint64_t begin, uint64_t end) {
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin()) --range;
  while (range != ranges_.end() && range->first < end) {
    const auto [from, to] = *range;
    if (to <= begin) {
      ++range;
      continue;
    }
    range = ranges_.erase(range);
    if (from < begin) ranges_.emplace(from, begin);
    if (to > end) ranges_.emplace(end, to);
  }
}

bool Memory::commit(uint64_t offset, std::size_t length, std::size_t limit) {
  const Lock lock(mutex_);
  uint64_t begin = offset;
  uint64_t end = offset + length;
  if (end < begin || end > capacity_) return false;
  const auto before = ranges_;
  // Neighbours that touch become one range, so that find() needs to look at one only.
  for (const auto& [from, to] : before) {
    if (to < begin || from > end) continue;
    begin = std::min(begin, from);
    end = std::max(end, to);
  }
  erase(begin, end);
  ranges_.emplace(begin, end);
  std::size_t total = 0;
  for (const auto& [from, to] : ranges_) total += to - from;
  if (total <= limit) return true;
  ranges_ = before;
  return false;
}

void Memory::release(uint64_t offset, std::size_t length) {
  const Lock lock(mutex_);
  erase(offset, offset + length);
}

std::byte* Memory::find(uint64_t offset, std::size_t length) {
  const Lock lock(mutex_);
  auto range = ranges_.upper_bound(offset);
  if (range == ranges_.begin()) return nullptr;
  --range;
  const bool inside = offset < range->second && length <= range->second - offset;
  return inside ? base_ + offset : nullptr;
}

// ------------------------------------------------------------------------------------------------
// Wire

Wire::Wire(uint32_t ranks, Hostility hostility)
    : hostility_(std::move(hostility)), memory_(ranks), dead_(ranks, false) {
  for (uint32_t rank = 0; rank < ranks; ++rank)
    death_fds_.push_back(hostility_.death_notice ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1);
}

Wire::~Wire() {
  for (const int fd : death_fds_)
    if (fd >= 0) ::close(fd);
}

Port& Wire::port_locked(uint32_t rank, uint32_t slot) {
  std::unique_ptr<Port>& port = ports_[{rank, slot}];
  if (!port) port = std::make_unique<Port>(hostility_.descriptor);
  return *port;
}

Port& Wire::port(uint32_t rank, uint32_t slot) {
  const Lock lock(mutex_);
  return port_locked(rank, slot);
}

MockLink& Wire::link(uint32_t rank, uint32_t slot, uint32_t peer, uint32_t peer_slot) {
  const Lock lock(mutex_);
  Port& from = port_locked(rank, slot);
  Port& to = port_locked(peer, peer_slot);
  std::unique_ptr<MockLink>& link = links_[{rank, slot, peer}];
  if (link) violation(fmt::format("rank {} opens endpoint {} twice", rank, slot));
  link = std::make_unique<MockLink>(*this, rank, slot, peer, from, to);
  to.attach(*link);
  if (dead_[rank] || dead_[peer]) link->break_now(OMPL_ERR_PEER);
  return *link;
}

void Wire::break_link(uint32_t rank, uint32_t slot, uint32_t peer, int code) {
  const Lock lock(mutex_);
  const auto link = links_.find({rank, slot, peer});
  if (link != links_.end()) link->second->break_now(code);
}

void Wire::fail_link(uint32_t rank, uint32_t slot, uint32_t peer) {
  const Lock lock(mutex_);
  const auto link = links_.find({rank, slot, peer});
  if (link != links_.end()) link->second->fail(OMPL_ERR_LINK);
}

void Wire::after_next_data(std::function<void()> action) {
  const Lock lock(mutex_);
  after_data_ = std::move(action);
}

void Wire::data_posted() {
  const auto action = [&] {
    const Lock lock(mutex_);
    return std::exchange(after_data_, nullptr);
  }();
  if (action) action();
}

Wire::Detention::Detention(Wire& wire, uint32_t rank, uint32_t slot) : wire_(wire) {
  wire_.detains_ = (uint64_t{rank} << 32 | slot) + 1;
}

Wire::Detention::~Detention() { wire_.detains_ = 0; }

void Wire::detain(uint32_t rank, uint32_t slot) {
  const uint64_t endpoint = (uint64_t{rank} << 32 | slot) + 1;
  if (detains_ != endpoint) return;
  ++detained_;
  while (detains_ == endpoint) ::sched_yield();
  --detained_;
}

void Wire::break_endpoint(uint32_t rank, uint32_t slot) { port(rank, slot).break_now(); }

void Wire::kill(uint32_t rank) {
  const Lock lock(mutex_);
  dead_[rank] = true;
  for (const auto& [key, link] : links_)
    if (link->source() == rank || link->target() == rank) link->break_now(OMPL_ERR_PEER);
  const uint64_t one = 1;
  if (death_fds_[rank] >= 0) [[maybe_unused]]
    const ssize_t put = ::write(death_fds_[rank], &one, sizeof one);
}

void Wire::violation(std::string_view what) const {
  const std::string line = fmt::format("mock conduit: {} [{}]\n", what, hostility_.describe());
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  std::abort();
}

}  // namespace ompl::conduit::mock
