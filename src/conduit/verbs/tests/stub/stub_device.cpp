// SPDX-License-Identifier: BSD-3-Clause
// How the stand-in's device executes requests.
#include "stub_device.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace stub {

void violation(const char* what) {
  std::fprintf(stderr, "verbs stub: %s\n", what);
  std::abort();
}

namespace {

// Of the fabric's pairs or queues; null if there is none of that number.
template <class Map>
typename Map::mapped_type of_number(const Map& map, uint32_t number) {
  const std::lock_guard lock(fabric().mutex);
  const auto found = map.find(number);
  return found != map.end() ? found->second : nullptr;
}

// Whether the key gives this access to the range.
bool allows(uint32_t key, bool remote, uint64_t address, uint64_t length, uint32_t access) {
  const std::lock_guard lock(fabric().mutex);
  const auto found = fabric().memory.find(key);
  if (found == fabric().memory.end()) return false;
  const Memory& memory = *found->second;
  const auto begin = reinterpret_cast<uint64_t>(memory.addr);
  return (!remote || (memory.access & access) == access) && address >= begin &&
         length <= memory.length && address - begin <= memory.length - length;
}

void complete(ibv_cq* target, const ibv_wc& completion) {
  auto* queue = static_cast<Queue*>(target);
  bool tell = false;
  {
    const std::lock_guard lock(queue->mutex);
    if (queue->completions.size() == static_cast<std::size_t>(queue->cqe))
      violation("a completion queue overflowed");
    queue->completions.push_back(completion);
    tell = std::exchange(queue->notify, false);
  }
  if (!tell || queue->channel == nullptr) return;
  auto* channel = static_cast<Channel*>(queue->channel);
  const std::lock_guard lock(channel->mutex);
  channel->events.push_back(queue);
  [[maybe_unused]] const ssize_t written = ::write(channel->write_end, "", 1);
}

void report(Pair& pair, const ibv_send_wr& work, ibv_wc_status status) {
  ++pair.unreported;
  const bool signalled =
      pair.signal_all || (work.send_flags & IBV_SEND_SIGNALED) != 0 || status != IBV_WC_SUCCESS;
  if (!signalled) return;
  pair.in_flight -= std::exchange(pair.unreported, 0);
  ibv_wc completion{};
  completion.wr_id = work.wr_id;
  completion.status = status;
  completion.qp_num = pair.qp_num;
  complete(pair.send_cq, completion);
}

}  // namespace

Fabric& fabric() {
  static auto* const one = new Fabric;  // never destroyed: endpoints may outlive main()
  return *one;
}

std::vector<std::shared_ptr<Pair>> pairs_that(bool (*hold)(const Pair&)) {
  std::vector<std::shared_ptr<Pair>> all;
  const std::lock_guard lock(fabric().mutex);
  for (const auto& [number, pair] : fabric().pairs)
    if (hold(*pair)) all.push_back(pair);
  return all;
}

bool count_down(std::atomic<uint64_t>& number) {
  uint64_t left = number;
  while (left > 0 && !number.compare_exchange_weak(left, left - 1)) {
  }
  return left > 0;
}

void set_receiving(Pair& pair, bool on) {
  const std::lock_guard lock(pair.receiving);
  pair.receives = on;
}

void to_error(Pair& pair) {
  set_receiving(pair, false);
  const std::lock_guard lock(pair.mutex);
  pair.state = IBV_QPS_ERR;
  for (const Send& send : pair.stalled) report(pair, send.work, IBV_WC_WR_FLUSH_ERR);
  pair.stalled.clear();
}

namespace {

// Takes a receive request of the target, or of the queue that XRC names; false if it has none.
bool take_receive(Pair& target, SharedReceives* queue, Receive* out) {
  const auto take = [out](std::deque<Receive>& posted) {
    if (posted.empty()) return false;
    *out = posted.front();
    posted.pop_front();
    return true;
  };
  auto* const shared = queue != nullptr ? queue : static_cast<SharedReceives*>(target.srq);
  if (shared == nullptr) return take(target.own_receives);
  const std::lock_guard lock(shared->mutex);
  return take(shared->posted);
}

uint64_t bytes_of(const Send& send) {
  uint64_t sum = 0;
  for (const ibv_sge& piece : send.data) sum += piece.length;
  return sum;
}

// Calls `copy(local, length)` for every piece.
template <class Copy>
void for_each_piece(const Send& send, Copy copy) {
  if (!send.inlined.empty())
    return copy(const_cast<std::byte*>(send.inlined.data()), send.inlined.size());
  for (const ibv_sge& piece : send.data)
    copy(reinterpret_cast<std::byte*>(piece.addr), std::size_t{piece.length});
}

bool takes_receive(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_SEND || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

enum class Outcome { done, stalled, refused, gone };

void deliver(Pair& target, ibv_cq* completions, const Receive& receive, const Pair& source,
             const Send& send, std::size_t header) {
  ibv_wc completion{};
  completion.wr_id = receive.number;
  completion.qp_num = target.qp_num;
  completion.src_qp = source.qp_num;
  completion.byte_len = static_cast<uint32_t>(bytes_of(send) + header);
  if (send.work.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    completion.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    completion.wc_flags = IBV_WC_WITH_IMM;
    completion.imm_data = send.work.imm_data;
  } else {
    completion.opcode = IBV_WC_RECV;
    auto* to = reinterpret_cast<std::byte*>(receive.data.addr) + header;
    if (completion.byte_len > receive.data.length)
      violation("a message is longer than its receive buffer");
    for_each_piece(
        send, [&](const std::byte* from, std::size_t length) { to = std::copy_n(from, length, to); });
  }
  complete(completions, completion);
}

Outcome execute(Pair& source, const Send& send) {
  if (accesses_to_refuse > 0) {
    --accesses_to_refuse;
    return Outcome::refused;
  }
  const std::shared_ptr<Pair> target =
      of_number(fabric().pairs, source.initiates() ? send.target : source.partner);
  if (!target || source.initiates() != (target->dynamic && target->dynamic->target))
    return Outcome::gone;
  const bool xrc = source.qp_type == IBV_QPT_XRC_SEND;
  if (xrc != (target->qp_type == IBV_QPT_XRC_RECV) || (xrc && target->partner != source.qp_num))
    return Outcome::gone;
  const std::shared_ptr<SharedReceives> queue =
      xrc ? of_number(fabric().queues, send.work.qp_type.xrc.remote_srqn) : nullptr;
  if (xrc && (!queue || queue->domain != target->domain)) return Outcome::refused;
  if (source.initiates() && target->dynamic->key != send.key) return Outcome::refused;
  const std::lock_guard lock(target->receiving);
  if (!target->receives) return Outcome::gone;
  const auto& rdma = send.work.wr.rdma;
  const uint64_t length = bytes_of(send);
  auto* remote = reinterpret_cast<std::byte*>(rdma.remote_addr);
  const bool read = send.work.opcode == IBV_WR_RDMA_READ;
  if (read && counts.holds_reads) return Outcome::stalled;
  if (send.work.opcode != IBV_WR_SEND && length > 0 &&
      !allows(rdma.rkey, true, rdma.remote_addr, length,
              read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE))
    return Outcome::refused;
  Receive receive{};
  if (takes_receive(send.work.opcode) && !take_receive(*target, queue.get(), &receive))
    return Outcome::stalled;
  if (send.work.opcode != IBV_WR_SEND) {
    for_each_piece(send, [&](std::byte* local, std::size_t bytes) {
      std::memcpy(read ? local : remote, read ? remote : local, bytes);
      remote += bytes;
    });
  }
  if (takes_receive(send.work.opcode))
    deliver(*target, xrc ? queue->completions : target->recv_cq, receive, source, send, 0);
  return Outcome::done;
}

}  // namespace

void advance(Pair& pair) {
  const std::lock_guard lock(pair.mutex);
  while (!pair.stalled.empty() && pair.state == IBV_QPS_RTS) {
    const Outcome outcome = execute(pair, pair.stalled.front());
    if (outcome == Outcome::stalled) return;
    const Send send = std::move(pair.stalled.front());
    pair.stalled.pop_front();
    const ibv_wc_status status = outcome == Outcome::done      ? IBV_WC_SUCCESS
                                 : outcome == Outcome::refused ? IBV_WC_REM_ACCESS_ERR
                                                               : IBV_WC_RETRY_EXC_ERR;
    report(pair, send.work, status);
    if (outcome != Outcome::done) to_error(pair);
  }
}

namespace {

void send_datagram(Pair& pair, const Send& send) {
  report(pair, send.work, IBV_WC_SUCCESS);
  std::vector<std::byte> bytes;
  for_each_piece(send, [&](const std::byte* from, std::size_t length) {
    bytes.insert(bytes.end(), from, from + length);
  });
  {
    const std::lock_guard lock(fabric().mutex);
    fabric().datagrams.push_back(std::move(bytes));
  }
  const bool lost = count_down(counts.datagrams_to_drop);
  const std::shared_ptr<Pair> target = of_number(fabric().pairs, send.work.wr.ud.remote_qpn);
  if (lost || !target) return;
  const std::lock_guard lock(target->receiving);
  if (!target->receives || target->qkey_set != send.work.wr.ud.remote_qkey) return;
  Receive receive{};
  if (take_receive(*target, nullptr, &receive))
    deliver(*target, target->recv_cq, receive, pair, send, sizeof(ibv_grh));
}

}  // namespace

// Whoever waits for receive requests goes on.
void advance_all() {
  for (const auto& pair : pairs_that([](const Pair&) { return true; })) advance(*pair);
}

void deliver_everywhere(const std::vector<std::byte>& bytes) {
  const auto all = pairs_that([](const Pair& pair) { return pair.qp_type == IBV_QPT_UD; });
  Send send{.work = {}, .data = {{0, static_cast<uint32_t>(bytes.size()), 0}}, .inlined = bytes};
  send.work.opcode = IBV_WR_SEND;
  for (const auto& target : all) {
    const std::lock_guard lock(target->receiving);
    Receive receive{};
    if (target->receives && take_receive(*target, nullptr, &receive))
      deliver(*target, target->recv_cq, receive, *target, send, sizeof(ibv_grh));
  }
}

int enqueue(Pair& pair, Send send) {
  if (pair.state < IBV_QPS_RTS) return EINVAL;
  if (pair.in_flight == pair.cap.max_send_wr) return ENOMEM;
  counts.requests.fetch_add(1, std::memory_order_relaxed);
  const bool inlined = (send.work.send_flags & IBV_SEND_INLINE) != 0;
  if (inlined && bytes_of(send) > pair.cap.max_inline_data) return EINVAL;
  for (const ibv_sge& piece : send.data) {
    if (inlined) {
      const auto* from = reinterpret_cast<const std::byte*>(piece.addr);
      send.inlined.insert(send.inlined.end(), from, from + piece.length);
    } else if (piece.length > 0 && !allows(piece.lkey, false, piece.addr, piece.length, 0)) {
      violation("local memory is not registered");
    }
  }
  ++pair.in_flight;
  if (pair.state == IBV_QPS_ERR) {
    report(pair, send.work, IBV_WC_WR_FLUSH_ERR);
  } else if (pair.qp_type == IBV_QPT_UD) {
    send_datagram(pair, send);
  } else {
    pair.stalled.push_back(std::move(send));
  }
  return 0;
}

int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad) {
  auto& pair = static_cast<Pair&>(*qp);
  const std::lock_guard lock(pair.mutex);
  if (counts.discard.load(std::memory_order_relaxed) && pair.connected() && pair.state == IBV_QPS_RTS &&
      list->opcode != IBV_WR_RDMA_READ) {
    for (const ibv_send_wr* work = list; work != nullptr; work = work->next) {
      ++pair.in_flight;
      report(pair, *work, IBV_WC_SUCCESS);
    }
    return 0;
  }
  counts.doorbells.fetch_add(1, std::memory_order_relaxed);
  for (ibv_send_wr* work = list; work != nullptr; work = work->next) {
    *bad = work;
    if (pair.dynamic) violation("DC is posted to by ibv_wr_start() and what follows it");
    if (pair.connected() && request_to_refuse > 0 && --request_to_refuse == 0) return EINVAL;
    Send send{.work = *work, .data = {work->sg_list, work->sg_list + work->num_sge}, .inlined = {}};
    if (const int error = enqueue(pair, std::move(send)); error != 0) return error;
  }
  *bad = nullptr;
  advance(pair);
  return 0;
}

int poll_cq(ibv_cq* cq, int most, ibv_wc* out) {
  auto& queue = static_cast<Queue&>(*cq);
  const std::lock_guard lock(queue.mutex);
  int count = 0;
  for (; count < most && !queue.completions.empty(); ++count) {
    out[count] = queue.completions.front();
    queue.completions.pop_front();
  }
  return count;
}

int req_notify_cq(ibv_cq* cq, int /*solicited*/) {
  auto& queue = static_cast<Queue&>(*cq);
  const std::lock_guard lock(queue.mutex);
  queue.notify = true;
  return 0;
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad) {
  auto& shared = static_cast<SharedReceives&>(*srq);
  {
    const std::lock_guard lock(shared.mutex);
    for (ibv_recv_wr* work = list; work != nullptr; work = work->next) {
      *bad = work;
      if (shared.posted.size() == shared.depth) return ENOMEM;
      shared.posted.push_back({work->wr_id, work->num_sge > 0 ? *work->sg_list : ibv_sge{}});
    }
    *bad = nullptr;
  }
  advance_all();
  return 0;
}

int post_recv(ibv_qp* qp, ibv_recv_wr* work, ibv_recv_wr** bad) {
  auto& pair = static_cast<Pair&>(*qp);
  const std::lock_guard lock(pair.receiving);
  *bad = work;
  if (pair.own_receives.size() == pair.cap.max_recv_wr) return ENOMEM;
  pair.own_receives.push_back({work->wr_id, *work->sg_list});
  *bad = nullptr;
  return 0;
}
}  // namespace stub
