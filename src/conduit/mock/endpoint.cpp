// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/mock/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "util/status.hpp"

namespace ompl::conduit::mock {

namespace {

// The source is only read; an operation has one pointer for puts and gets.
MockOperation put_of(const void* source, uint64_t offset, std::size_t length) {
  auto* const local = const_cast<std::byte*>(static_cast<const std::byte*>(source));
  return {
      .kind = MockOperation::Kind::put, .held = true, .local = local, .offset = offset, .left = length};
}

}  // namespace

// Two threads in one endpoint, or a post from within a sink, is an error of the core.
class MockEndpoint::Claim {
 public:
  explicit Claim(MockEndpoint& endpoint) : endpoint_(endpoint) {
    if (endpoint_.claimed_.exchange(true, std::memory_order_relaxed))
      endpoint_.wire_.violation(fmt::format("endpoint {} of rank {} is called twice at a time",
                                            endpoint_.slot_, endpoint_.rank_));
  }
  ~Claim() { endpoint_.claimed_.store(false, std::memory_order_relaxed); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  MockEndpoint& endpoint_;
};

MockEndpoint::MockEndpoint(Wire& wire, uint32_t rank, uint32_t slot,
                           const std::vector<uint32_t>& peer_slots)
    : wire_(wire),
      port_(wire.port(rank, slot)),
      rank_(rank),
      slot_(slot),
      dice_({wire.hostility().seed, rank, slot}),
      links_(peer_slots.size(), nullptr) {
  for (uint32_t peer = 0; peer < peer_slots.size(); ++peer)
    if (peer_slots[peer] > 0) links_[peer] = &wire.link(rank, slot, peer, slot % peer_slots[peer]);
}

MockEndpoint::~MockEndpoint() {
  for (MockLink* link : links_)
    if (link != nullptr) link->fail(OMPL_ERR_LINK);
  port_.close();
}

Post MockEndpoint::put(uint32_t rank, const void* source, uint64_t offset, std::size_t length) {
  const Claim claim(*this);
  return links_[rank]->post(put_of(source, offset, length));
}

Post MockEndpoint::get(uint32_t rank, void* target, uint64_t offset, std::size_t length) {
  const Claim claim(*this);
  return links_[rank]->post({.kind = MockOperation::Kind::get,
                             .held = true,
                             .local = static_cast<std::byte*>(target),
                             .offset = offset,
                             .left = length});
}

Post MockEndpoint::signal(uint32_t rank, const Signal& record) {
  const Claim claim(*this);
  return links_[rank]->post({.kind = MockOperation::Kind::signal, .record = record});
}

Post MockEndpoint::put_with_immediate(uint32_t rank, const void* source, uint64_t offset,
                                      std::size_t length, uint64_t flag) {
  const Claim claim(*this);
  Post data;
  if (length > 0) {
    data = links_[rank]->post(put_of(source, offset, length));
    if (data.state != Post::State::done) return data;
  }
  const Post signal =
      links_[rank]->post({.kind = MockOperation::Kind::signal, .record = {.offset = flag}});
  if (length == 0) return signal;
  if (signal.state != Post::State::done) data.state = Post::State::pending;
  return data;
}

int MockEndpoint::carry(int budget) {
  port_.list_incoming(&incoming_);
  for (MockLink* link : incoming_) link->accept();
  int moved = 0;
  const auto pull = [&moved, budget](MockLink* link) {
    if (link != nullptr && moved < budget) moved += link->carry(budget - moved);
  };
  std::ranges::for_each(incoming_, pull);
  if (wire_.hostility().passive_target) std::ranges::for_each(links_, pull);
  return moved;
}

int MockEndpoint::advance(int budget) {
  int taken = 0;
  const std::size_t first = dice_.up_to(links_.size() - 1);
  for (std::size_t i = 0; i < links_.size() && taken < budget; ++i) {
    MockLink* const link = links_[(first + i) % links_.size()];
    if (link != nullptr) taken += link->advance(budget - taken);
  }
  return taken;
}

int MockEndpoint::break_down() {
  for (MockLink* link : links_)
    if (link != nullptr) link->fail(OMPL_ERR_LINK);
  port_.close();
  broken_ = true;
  return fail(OMPL_ERR_LINK, "mock: endpoint {} of rank {} broke, as injected", slot_, rank_);
}

int MockEndpoint::progress(Sink& sink, int budget) {
  const Claim claim(*this);
  ++wire_.counts().progressed;
  if (broken_) return OMPL_ERR_LINK;
  if (port_.broken()) return break_down();
  // Three kinds of work share the budget; which comes first is left to chance, so that none starves.
  int taken = 0;
  const std::size_t first = dice_.up_to(2);
  for (std::size_t i = 0; i < 3 && taken < budget; ++i) {
    const int left = budget - taken;
    switch ((first + i) % 3) {
      case 0:
        taken += carry(left);
        break;
      case 1:
        taken += advance(left);
        break;
      default:
        taken += port_.take(sink, left);
    }
  }
  wire_.detain(rank_, slot_);
  return taken;
}

uint64_t MockEndpoint::completed(uint32_t rank) const { return links_[rank]->completed(); }

int MockEndpoint::failure(uint32_t rank) const {
  if (links_[rank] == nullptr) return OMPL_OK;
  const int known = links_[rank]->failure();
  if (known == OMPL_OK && wire_.hostility().fails_when_asked) links_[rank]->learn();
  return known;
}

bool MockEndpoint::departed(uint32_t rank) const {
  return links_[rank] != nullptr && links_[rank]->target_departed();
}

bool MockEndpoint::idle() {
  if (port_.broken()) return broken_;
  if (port_.waiting() > 0) return false;
  port_.list_incoming(&incoming_);
  for (MockLink* link : incoming_)
    if (link->target_has_work()) return false;
  return std::none_of(links_.begin(), links_.end(),
                      [](MockLink* link) { return link != nullptr && link->initiator_has_work(); });
}

bool MockEndpoint::arm() {
  const Claim claim(*this);
  if (descriptor() < 0) return false;
  port_.wake_event.disarm();
  port_.wake_event.arm();
  if (idle()) {
    const auto overslept = [](MockLink* link) {
      return link != nullptr && link->takes_what_it_refused();
    };
    if (std::ranges::any_of(links_, overslept)) ++wire_.counts().overslept;
    return true;
  }
  port_.wake_event.disarm();
  return false;
}

std::string MockEndpoint::describe() const {
  std::string text = fmt::format("{} records waiting", port_.waiting());
  for (MockLink* link : links_)
    if (link != nullptr) text += "; " + link->describe();
  return text;
}

}  // namespace ompl::conduit::mock
