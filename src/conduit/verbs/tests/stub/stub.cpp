// SPDX-License-Identifier: BSD-3-Clause
// What the stand-in for libibverbs exports: one device, one port.
#include <fcntl.h>
#include <net/if.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "stub_device.hpp"

using namespace stub;  // NOLINT(google-build-using-namespace)

// Constant: threads may load this library at once.
static constinit ibv_device the_device{{}, {}, {}, "stub0", {}, {}, {}};

// --- What libibverbs exports ---------------------------------------------------------------------------

#undef ibv_query_port
#undef ibv_reg_mr
extern "C" {

EXPORT ibv_device** ibv_get_device_list(int* count) {
  static ibv_device* list[] = {&the_device, nullptr};
  *count = 1;
  return list;
}
EXPORT void ibv_free_device_list(ibv_device**) {}

// As the library's, it must come before the first registration; the registrations are counted in ibv_reg_mr().
static std::atomic<bool> asked_for_forks{false};
static std::atomic<uint64_t> registered_before{0};
EXPORT int ibv_fork_init() {
  asked_for_forks = true;
  return 0;
}
EXPORT int verbs_stub_forks_are_safe() { return asked_for_forks && registered_before == 0 ? 1 : 0; }

EXPORT ibv_context* ibv_open_device(ibv_device* device) {
  auto* extended = new verbs_context{};
  extended->sz = sizeof *extended;
  offer_xrc(extended);
  ibv_context* const context = &extended->context;
  context->abi_compat = __VERBS_ABI_IS_EXTENDED;
  context->device = device;
  context->ops.post_send = post_send;
  context->ops.poll_cq = poll_cq;
  context->ops.req_notify_cq = req_notify_cq;
  context->ops.post_srq_recv = post_srq_recv;
  context->ops.post_recv = post_recv;
  return context;
}
EXPORT int ibv_close_device(ibv_context* context) {
  delete verbs_get_ctx(context);
  return 0;
}

EXPORT int ibv_query_device(ibv_context*, ibv_device_attr* out) {
  *out = {};
  out->phys_port_cnt = 1;
  out->max_qp_rd_atom = out->max_qp_init_rd_atom = 16;
  return 0;
}
EXPORT int ibv_query_port(ibv_context*, uint8_t, _compat_ibv_port_attr* short_form) {
  auto* out = reinterpret_cast<ibv_port_attr*>(short_form);
  out->state = IBV_PORT_ACTIVE;
  out->active_mtu = IBV_MTU_1024;
  out->gid_tbl_len = 1;
  out->max_msg_sz = kMaxMessage;
  out->active_width = out->active_speed = 1;
  out->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}
EXPORT int _ibv_query_gid_ex(ibv_context*, uint32_t, uint32_t index, ibv_gid_entry* out, uint32_t,
                             size_t) {
  if (index != 0) return ENODATA;
  *out = {};
  out->gid_type = IBV_GID_TYPE_ROCE_V2;
  out->ndev_ifindex = if_nametoindex("lo");
  const unsigned char mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1};
  std::memcpy(out->gid.raw, mapped, sizeof mapped);
  return 0;
}

EXPORT ibv_pd* ibv_alloc_pd(ibv_context* context) {
  return new ibv_pd{.context = context, .handle = 0};
}
EXPORT int ibv_dealloc_pd(ibv_pd* pd) {
  delete pd;
  return 0;
}

EXPORT ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, size_t length, int access) {
  if (!asked_for_forks) ++registered_before;
  if (count_down(counts.registrations_to_refuse)) {
    errno = ENOMEM;
    return nullptr;
  }
  auto* memory = new Memory{};
  memory->pd = pd;
  memory->context = pd->context;
  memory->addr = address;
  memory->length = length;
  memory->access = static_cast<uint32_t>(access);
  const std::lock_guard lock(fabric().mutex);
  memory->lkey = memory->rkey = fabric().next_key++;
  fabric().memory[memory->lkey] = memory;
  return memory;
}
EXPORT int ibv_dereg_mr(ibv_mr* mr) {
  const std::lock_guard lock(fabric().mutex);
  fabric().memory.erase(mr->lkey);
  delete static_cast<Memory*>(mr);
  return 0;
}

EXPORT ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return nullptr;
  auto* channel = new Channel{};
  channel->context = context;
  channel->fd = ends[0];
  channel->write_end = ends[1];
  return channel;
}
EXPORT int ibv_destroy_comp_channel(ibv_comp_channel* base) {
  auto* channel = static_cast<Channel*>(base);
  ::close(channel->fd);
  ::close(channel->write_end);
  delete channel;
  return 0;
}
EXPORT int ibv_get_cq_event(ibv_comp_channel* base, ibv_cq** queue, void** context) {
  auto* channel = static_cast<Channel*>(base);
  char byte = 0;
  if (::read(channel->fd, &byte, 1) != 1) return -1;
  const std::lock_guard lock(channel->mutex);
  *queue = channel->events.front();
  *context = (*queue)->cq_context;
  channel->events.pop_front();
  return 0;
}
EXPORT void ibv_ack_cq_events(ibv_cq*, unsigned) {}

EXPORT ibv_cq* ibv_create_cq(ibv_context* context, int depth, void* user, ibv_comp_channel* channel,
                             int) {
  auto* queue = new Queue{};
  queue->context = context;
  queue->cqe = depth;
  queue->cq_context = user;
  queue->channel = channel;
  return queue;
}
EXPORT int ibv_destroy_cq(ibv_cq* queue) {
  delete static_cast<Queue*>(queue);
  return 0;
}

EXPORT ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* wanted) {
  auto* shared = new SharedReceives{};
  shared->context = pd->context;
  shared->pd = pd;
  shared->depth = wanted->attr.max_wr;
  return shared;
}
EXPORT int ibv_destroy_srq(ibv_srq* srq) {
  auto* const shared = static_cast<SharedReceives*>(srq);
  if (shared->number == 0) {
    delete shared;
    return 0;
  }
  const std::lock_guard lock(fabric().mutex);
  fabric().queues.erase(shared->number);
  return 0;
}

EXPORT ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* wanted) {
  if (wanted->cap.max_inline_data > kMaxInline) {
    errno = EINVAL;
    return nullptr;
  }
  auto pair = std::make_shared<Pair>();
  pair->context = pd->context;
  pair->pd = pd;
  pair->send_cq = wanted->send_cq;
  pair->recv_cq = wanted->recv_cq;
  pair->srq = wanted->srq;
  pair->qp_type = wanted->qp_type;
  pair->cap = wanted->cap;
  pair->signal_all = wanted->sq_sig_all != 0;
  pair->state = IBV_QPS_RESET;
  const std::lock_guard lock(fabric().mutex);
  pair->qp_num = fabric().next_pair++;
  fabric().pairs[pair->qp_num] = pair;
  return pair.get();
}
EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  std::shared_ptr<Pair> last;
  {
    const std::lock_guard lock(fabric().mutex);
    const auto& pair = static_cast<const Pair&>(*qp);
    auto& users = static_cast<Pair&>(*qp).users;
    if (--users > 0) return 0;
    const auto found = fabric().pairs.find(pair.dynamic ? pair.dynamic->number : pair.qp_num);
    last = std::move(found->second);
    fabric().pairs.erase(found);
  }
  set_receiving(*last, false);
  const std::lock_guard lock(last->mutex);
  last->stalled.clear();
  return 0;
}
EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  auto& pair = static_cast<Pair&>(*qp);
  const std::lock_guard lock(pair.mutex);
  if (pair.dynamic && !allows_change(pair, attributes->qp_state, mask)) return EINVAL;
  if (pair.is_xrc() && !allows_xrc_change(pair, attributes->qp_state, mask)) return EINVAL;
  if ((mask & IBV_QP_DEST_QPN) != 0) pair.partner = attributes->dest_qp_num;
  if ((mask & IBV_QP_QKEY) != 0) pair.qkey_set = attributes->qkey;
  const ibv_qp_state to = attributes->qp_state;
  if (to == IBV_QPS_ERR) {
    to_error(pair);
    return 0;
  }
  if (to == IBV_QPS_RESET && pair.dynamic) {
    auto& queue = static_cast<Queue&>(*pair.send_cq);
    const std::lock_guard queue_lock(queue.mutex);
    std::erase_if(queue.completions, [qp](const ibv_wc& wc) { return wc.qp_num == qp->qp_num; });
    pair.in_flight = pair.unreported = 0;
    pair.state = to;
    return 0;
  }
  if (to != pair.state + 1) return EINVAL;
  pair.state = to;
  if (to == IBV_QPS_RTR && pair.dynamic) pair.qp_num = pair.dynamic->number;
  if (to == IBV_QPS_RTR) set_receiving(pair, true);
  return 0;
}

EXPORT ibv_ah* ibv_create_ah(ibv_pd* pd, ibv_ah_attr*) {
  auto* route = new ibv_ah{};
  route->pd = pd;
  const std::lock_guard lock(fabric().mutex);
  fabric().paths.insert(route);
  return route;
}
EXPORT int ibv_destroy_ah(ibv_ah* route) {
  {
    const std::lock_guard lock(fabric().mutex);
    fabric().paths.erase(route);
  }
  delete route;
  return 0;
}

EXPORT const char* ibv_wc_status_str(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return "success";
    case IBV_WC_WR_FLUSH_ERR:
      return "Work Request Flushed Error";
    case IBV_WC_REM_ACCESS_ERR:
      return "remote access error";
    case IBV_WC_RETRY_EXC_ERR:
      return "transport retry counter exceeded";
    default:
      return "another status";
  }
}

// --- stub.hpp ------------------------------------------------------------------------------------------

EXPORT void verbs_stub_counts(verbs_stub_counters* out) { *out = {counts.doorbells, counts.requests}; }
EXPORT void verbs_stub_drop_datagrams(uint64_t count) { counts.datagrams_to_drop = count; }
EXPORT void verbs_stub_refuse_registrations(uint64_t count) { counts.registrations_to_refuse = count; }
EXPORT void verbs_stub_refuse_accesses(uint64_t count) { accesses_to_refuse = count; }
EXPORT void verbs_stub_refuse_request(uint64_t number) { request_to_refuse = number; }
EXPORT void verbs_stub_hold_reads(int on) {
  counts.holds_reads = on != 0;
  if (on == 0) advance_all();
}
EXPORT unsigned verbs_stub_held_reads(void) {
  unsigned held = 0;
  for (const auto& pair : pairs_that([](const Pair& each) { return each.connected(); })) {
    const std::lock_guard lock(pair->mutex);
    if (!pair->stalled.empty() && pair->stalled.front().work.opcode == IBV_WR_RDMA_READ) ++held;
  }
  return held;
}
EXPORT void verbs_stub_have_all(int on) { counts.have_all = on != 0; }
EXPORT void verbs_stub_inject_datagram(const void* bytes, uint32_t size) {
  const auto* first = static_cast<const std::byte*>(bytes);
  deliver_everywhere({first, first + size});
}
EXPORT unsigned verbs_stub_replay_datagrams(void) {
  std::vector<std::vector<std::byte>> sent;
  {
    const std::lock_guard lock(fabric().mutex);
    sent.swap(fabric().datagrams);
  }
  for (const auto& datagram : sent) deliver_everywhere(datagram);
  return static_cast<unsigned>(sent.size());
}
EXPORT void verbs_stub_discard(int on) { counts.discard = on != 0; }
EXPORT unsigned verbs_stub_break_connections(void) {
  const auto all = pairs_that([](const Pair& pair) { return pair.connected() || pair.initiates(); });
  for (const auto& pair : all) to_error(*pair);
  return static_cast<unsigned>(all.size());
}

}  // extern "C"
