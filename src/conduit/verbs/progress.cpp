// SPDX-License-Identifier: BSD-3-Clause
// What comes in at an endpoint: completions, records, datagrams; and what time asks for.
#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "arch/clock.hpp"
#include "conduit/verbs/endpoint.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {
namespace {

constexpr std::size_t kRefill = 32;  // receive requests posted at once
constexpr uint32_t kPollsPerClock = 16;
constexpr int64_t kTickMs = 4;
constexpr int64_t kHeartbeatMs = 1000;

}  // namespace

int VerbsEndpoint::take(ibv_cq* queue, Taken* into, int most) {
  if (into->count == 0)
    into->count = ibv_poll_cq(queue, std::min(most, kBatch), into->completions.data());
  if (into->count < 0)
    return fail(OMPL_ERR_LINK, "endpoint {} is broken: its completion queue fails", slot_);
  return std::exchange(into->count, 0);
}

int VerbsEndpoint::progress(Sink& sink, int budget) {
  wait_set_.disarm();
  const int received = take(resources_.receives.get(), &received_, budget);
  for (int i = 0; i < received; ++i) arrived(sink, received_.completions[static_cast<std::size_t>(i)]);
  const int sent = take_in_sent(budget);
  if (received < 0 || sent < 0) return OMPL_ERR_LINK;
  if (receives_.size() >= kRefill) refill();
  if (connections_.waiting() || ++polls_ % kPollsPerClock == 0) look_at_clock();
  return received + sent + std::exchange(untold_, 0);
}

void VerbsEndpoint::arrived(Sink& sink, const ibv_wc& completion) {
  if (completion.qp_num == resources_.end && resources_.datagrams) {
    if (completion.status == IBV_WC_SUCCESS)
      connections_.received(completion.wr_id, completion.byte_len);
    return;
  }
  const auto buffer = static_cast<uint32_t>(completion.wr_id);
  const Message message = resources_.block->receives[buffer].message;
  receives_.push_back(buffer);
  QueuePairLink* const link = connections_.find_pair(completion.qp_num);
  if (completion.status != IBV_WC_SUCCESS) return;
  if (link == nullptr) [[unlikely]]
    return arrived_from_anyone(sink, completion, message);
  if (link->state == QueuePairLink::State::replied) connections_.begun(*link);
  ++link->arrivals;
  if (completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    sink.signal(link->rank, {.offset = uint64_t{ntohl(completion.imm_data)} * 4});
  } else if (completion.byte_len != sizeof message) {
    log::warn("verbs: dropped a message of {} bytes", completion.byte_len);
  } else if (message.op == kGoodbye) {
    connections_.said_goodbye(*link);
  } else {
    sink.signal(link->rank, from_message(message));
  }
}

// Over XRC and DC a message says who has sent it. An immediate does not, and nobody needs to know: only plain updates
// travel so.
void VerbsEndpoint::arrived_from_anyone(Sink& sink, const ibv_wc& completion, const Message& message) {
  if (shared_.transport == Transport::rc) return;
  if (completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
    sink.signal(shared_.job->rank, {.offset = uint64_t{ntohl(completion.imm_data)} * 4});
  } else if (completion.byte_len != sizeof message) {
    log::warn("verbs: dropped a message of {} bytes", completion.byte_len);
  } else if (message.op == kHello) {
    connections_.greeted(message.rank, message.slot);
  } else if (message.op == kGoodbye) {
    connections_.parted(message.rank, message.slot);
  } else {
    sink.signal(message.rank, from_message(message));
  }
}

// Completions of what was sent. A queue pair completes in order: the last of several speaks for all.
int VerbsEndpoint::take_in_sent(int most) {
  const int sent = take(resources_.sends.get(), &sent_, most);
  const ibv_wc* const end = sent_.completions.data() + std::max(sent, 0);
  for (const ibv_wc* now = sent_.completions.data(); now != end; ++now) {
    const uint64_t link = now->wr_id >> kTicketBits;
    if (now->status == IBV_WC_SUCCESS) {
      while (now + 1 != end && now[1].wr_id >> kTicketBits == link && now[1].status == IBV_WC_SUCCESS)
        ++now;
    }
    finished(*now);
  }
  return sent;
}

void VerbsEndpoint::finished(const ibv_wc& completion) {
  if ((completion.wr_id & kDatagramBit) != 0) return connections_.sent();
  QueuePairLink& link = connections_.at(completion.wr_id >> kTicketBits);
  const bool good = completion.status == IBV_WC_SUCCESS;
  reap(link, link.reaped + static_cast<uint32_t>(completion.wr_id - link.reaped), good);
  if (!good) connections_.broke(link, shared_.library->status_text(completion.status));
}

// After a failure all has counted as complete, and the memory of callers is theirs again.
void VerbsEndpoint::reap(QueuePairLink& link, uint64_t number, bool good) {
  good = good && link.failure.load(std::memory_order_relaxed) == OMPL_OK;
  const auto count = static_cast<uint32_t>(number - link.reaped);
  outstanding_ -= count;
  if (link.limit != 0) link.limit = number + kSends;
  if (link.initiator != nullptr) link.initiator->outstanding -= count;
  for (InFlightResources in_flight; in_flight_.take(link, number, &in_flight);) {
    if (good && in_flight.target != nullptr)
      std::memcpy(in_flight.target, resources_.block->bounces[in_flight.bounce].data(),
                  in_flight.length);
    if (good && in_flight.place != InFlightResources::kNoPlace) fetched(link, in_flight);
    give_back(in_flight);
  }
  link.reaped = number;
  if (good) link.done.store(number, std::memory_order_seq_cst);
  if (link.departed) [[unlikely]]
    connections_.part_if_idle(link);
}

void VerbsEndpoint::fetched(QueuePairLink& link, const InFlightResources& in_flight) {
  PublishedKey published;
  std::memcpy(&published, resources_.block->bounces[in_flight.bounce].data(), sizeof published);
  if (in_flight.place >= PinnedRegions::kMax) {
    const auto piece = static_cast<uint64_t>(in_flight.place - PinnedRegions::kMax);
    link.local_keys[piece] = {.begin = published.begin,
                              .end = published.end,
                              .key = published.key,
                              .state = PeerLocalKey::State::fresh};
    return;
  }
  PeerKey& key = link.keys[static_cast<std::size_t>(in_flight.place)];
  if (key.generation != shared_.segment->generation(in_flight.place)) return;  // freed meanwhile
  if (published.valid == 0 || published.begin != shared_.segment->begin(in_flight.place)) {
    key.state = PeerKey::State::unknown;
    return connections_.broke(link,
                              "it has no such allocation: all ranks must call ompl_alloc in one order");
  }
  key.key = published.key;
  key.state = PeerKey::State::known;
}

// In one list, as many as fit one.
void VerbsEndpoint::refill() {
  std::array<ibv_recv_wr, kRefill> requests;
  std::array<ibv_sge, kRefill> data;
  const std::size_t count = std::min(kRefill, receives_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const uint32_t buffer = receives_[receives_.size() - 1 - i];
    data[i] = {.addr = reinterpret_cast<uint64_t>(&resources_.block->receives[buffer]),
               .length = sizeof(BufferBlock::Receive),
               .lkey = resources_.memory->lkey};
    requests[i] = {.wr_id = buffer,
                   .next = i + 1 < count ? &requests[i + 1] : nullptr,
                   .sg_list = &data[i],
                   .num_sge = 1};
  }
  ibv_recv_wr* bad = nullptr;
  static_cast<void>(ibv_post_srq_recv(resources_.queue.get(), requests.data(), &bad));
  const auto first = static_cast<std::size_t>(bad != nullptr ? bad - requests.data() : 0);
  receives_.resize(receives_.size() - (bad != nullptr ? first : count));
}

void VerbsEndpoint::look_at_clock() {
  const int64_t now = arch::now_ms();
  if (now - last_tick_ < kTickMs) return;
  last_tick_ = now;
  connections_.tick(now);
  if (now - last_heartbeat_ < kHeartbeatMs) return;
  last_heartbeat_ = now;
  shared_.liveness->answer();
  heartbeat(now);
}

// Tries the connections on which nothing happened since the last heartbeat, and looks after those that stall.
void VerbsEndpoint::heartbeat(int64_t now) {
  for (std::size_t i = 0; i < connections_.count(); ++i) {
    QueuePairLink& link = connections_.at(i);
    if (link.state != QueuePairLink::State::up || link.failure != OMPL_OK) continue;
    const bool silent = link.posted + link.arrivals == link.last_heartbeat;
    if (silent && link.outstanding() != 0 && link.reaped == link.last_reaped) {
      connections_.stalled(link, now);
      continue;
    }
    link.heard = now;
    link.probe.end();
    link.last_reaped = link.reaped;
    if (silent && link.outstanding() == 0 && can_post(link)) {
      Request request;
      request.work.opcode = IBV_WR_RDMA_WRITE;
      post(link, request);
    }
    link.last_heartbeat = link.posted + link.arrivals;
  }
}

// --- State ---------------------------------------------------------------------------------------------

bool VerbsEndpoint::arm() {
  if (!wait_set_.arm(connections_.waiting() ? kTickMs : kHeartbeatMs)) return false;
  const auto look = [](ibv_cq* queue, Taken* into) {
    if (into->count == 0) into->count = ibv_poll_cq(queue, kBatch, into->completions.data());
    return into->count == 0;
  };
  const bool none_received = look(resources_.receives.get(), &received_);
  const bool none_sent = look(resources_.sends.get(), &sent_);
  return none_received && none_sent && untold_ == 0;
}

std::string VerbsEndpoint::describe() const { return connections_.describe(); }

}  // namespace ompl::conduit::verbs
