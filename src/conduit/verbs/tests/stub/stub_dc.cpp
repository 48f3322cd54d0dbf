// SPDX-License-Identifier: BSD-3-Clause
// DC of the stand-in: initiators, targets, and how one posts to an initiator. The rules are those of mlx5's library and
// of its driver. What libmlx5 exports forwards to this (stub_mlx5.cpp).
#include <cerrno>
#include <cstring>

#include "stub_device.hpp"

namespace stub {
namespace {

constexpr unsigned kSetters = 2;  // of a request: the target, then the data

template <class Requests>
Pair& pair_of(const Requests* requests) {
  return *static_cast<Pair*>(requests->owner);
}
Dynamic& dynamic_of(ibv_qp_ex* qp) { return *pair_of(static_cast<Requests*>(qp)).dynamic; }

void expect_whole(const Dynamic& dynamic) {
  if (!dynamic.list.empty() && dynamic.setters != kSetters)
    violation("a request needs its target and then its data, once each");
}

Send& begin(ibv_qp_ex* qp, uint64_t operation, ibv_wr_opcode opcode) {
  Dynamic& dynamic = dynamic_of(qp);
  if (!dynamic.started) violation("a request before ibv_wr_start()");
  if ((dynamic.operations & operation) == 0) violation("an initiator was not made for this operation");
  expect_whole(dynamic);
  dynamic.setters = 0;
  Send& send = dynamic.list.emplace_back();
  send.work = {};
  send.work.wr_id = qp->wr_id;
  send.work.send_flags = qp->wr_flags;
  send.work.opcode = opcode;
  return send;
}

void begin_rdma(ibv_qp_ex* qp, uint64_t operation, ibv_wr_opcode opcode, uint32_t key, uint64_t to) {
  begin(qp, operation, opcode).work.wr.rdma = {.remote_addr = to, .rkey = key};
}

void start(ibv_qp_ex* qp) {
  Dynamic& dynamic = dynamic_of(qp);
  if (dynamic.started) violation("ibv_wr_start() twice");
  dynamic.started = true;
  dynamic.list.clear();
}

// All or nothing.
int complete(ibv_qp_ex* qp) {
  Pair& pair = pair_of(static_cast<Requests*>(qp));
  Dynamic& dynamic = *pair.dynamic;
  if (!dynamic.started) violation("ibv_wr_complete() without ibv_wr_start()");
  expect_whole(dynamic);
  dynamic.started = false;
  const std::lock_guard lock(pair.mutex);
  if (pair.in_flight + dynamic.list.size() > pair.cap.max_send_wr) return ENOMEM;
  counts.doorbells.fetch_add(1, std::memory_order_relaxed);
  for (Send& send : dynamic.list)
    if (const int error = enqueue(pair, std::move(send)); error != 0) return error;
  advance(pair);
  return 0;
}

void set_target(mlx5dv_qp_ex* qp, ibv_ah* path, uint32_t target, uint64_t key) {
  Dynamic& dynamic = *pair_of(static_cast<Addresses*>(qp)).dynamic;
  {
    const std::lock_guard lock(fabric().mutex);
    if (!fabric().paths.contains(path)) violation("an address handle that is not there");
  }
  if (dynamic.list.empty() || dynamic.setters++ != 0) violation("a target that no request asked for");
  dynamic.list.back().target = target;
  dynamic.list.back().key = key;
}

void set_data(ibv_qp_ex* qp, std::vector<ibv_sge> data, unsigned flags) {
  Dynamic& dynamic = dynamic_of(qp);
  if (dynamic.list.empty() || dynamic.setters++ != 1) violation("data before their target, or twice");
  dynamic.list.back().data = std::move(data);
  dynamic.list.back().work.send_flags |= flags;
}

std::unique_ptr<Dynamic> make_initiator(Pair& pair, uint64_t operations) {
  auto dynamic = std::make_unique<Dynamic>();
  dynamic->operations = operations;
  Requests& to = dynamic->requests;
  to.owner = dynamic->addresses.owner = &pair;
  to.wr_start = start;
  to.wr_complete = complete;
  to.wr_send = [](ibv_qp_ex* qp) { begin(qp, IBV_QP_EX_WITH_SEND, IBV_WR_SEND); };
  to.wr_rdma_write = [](ibv_qp_ex* qp, uint32_t key, uint64_t place) {
    begin_rdma(qp, IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE, key, place);
  };
  to.wr_rdma_read = [](ibv_qp_ex* qp, uint32_t key, uint64_t place) {
    begin_rdma(qp, IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ, key, place);
  };
  to.wr_rdma_write_imm = [](ibv_qp_ex* qp, uint32_t key, uint64_t place, __be32 immediate) {
    begin_rdma(qp, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM, key, place);
    dynamic_of(qp).list.back().work.imm_data = immediate;
  };
  to.wr_set_inline_data = [](ibv_qp_ex* qp, void* data, size_t length) {
    set_data(qp, {{reinterpret_cast<uint64_t>(data), static_cast<uint32_t>(length), 0}},
             IBV_SEND_INLINE);
  };
  to.wr_set_sge_list = [](ibv_qp_ex* qp, size_t count, const ibv_sge* list) {
    set_data(qp, {list, list + count}, 0);
  };
  dynamic->addresses.wr_set_dc_addr = set_target;
  return dynamic;
}

}  // namespace

// As the driver of mlx5 has it (modify_dci_qp_is_ok, mlx5_ib_modify_dct).
bool allows_change(const Pair& pair, ibv_qp_state to, int mask) {
  const auto is = [mask](int required, int optional) {
    return (mask & required) == required && (mask & ~(required | optional)) == 0;
  };
  constexpr int kPort = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  const bool target = pair.dynamic->target;
  switch (to) {
    case IBV_QPS_INIT:
      return is(kPort | (target ? IBV_QP_ACCESS_FLAGS : 0), 0);
    case IBV_QPS_RTR:
      return target ? is(IBV_QP_STATE | IBV_QP_AV | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MTU, 0)
                    : is(IBV_QP_STATE | IBV_QP_PATH_MTU, IBV_QP_PKEY_INDEX | IBV_QP_AV);
    case IBV_QPS_RTS:
      return !target && is(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                               IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN,
                           IBV_QP_MIN_RNR_TIMER);
    default:
      return !target && is(IBV_QP_STATE, 0);
  }
}

extern "C" {

EXPORT bool verbs_stub_has_dc(void) { return counts.have_all; }

EXPORT ibv_qp* verbs_stub_create_dc(ibv_qp_init_attr_ex* wanted, const mlx5dv_qp_init_attr* own) {
  const bool target = own->dc_init_attr.dc_type == MLX5DV_DCTYPE_DCT;
  const auto has = [wanted](uint32_t bits) { return (wanted->comp_mask & bits) == bits; };
  errno = EINVAL;
  if (wanted->qp_type != IBV_QPT_DRIVER || own->comp_mask != MLX5DV_QP_INIT_ATTR_MASK_DC ||
      !has(IBV_QP_INIT_ATTR_PD) || wanted->send_cq == nullptr || wanted->recv_cq == nullptr)
    return nullptr;
  if (target ? wanted->srq == nullptr : !has(IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)) return nullptr;
  if (wanted->cap.max_inline_data > kMaxInline) return nullptr;
  auto pair = std::make_shared<Pair>();
  pair->context = wanted->pd->context;
  pair->pd = wanted->pd;
  pair->send_cq = wanted->send_cq;
  pair->recv_cq = wanted->recv_cq;
  pair->srq = wanted->srq;
  pair->qp_type = IBV_QPT_DRIVER;
  pair->cap = wanted->cap;
  pair->state = IBV_QPS_RESET;
  if (target) {
    pair->dynamic = std::make_unique<Dynamic>();
    pair->dynamic->target = true;
    pair->dynamic->key = own->dc_init_attr.dct_access_key;
  } else {
    pair->dynamic = make_initiator(*pair, wanted->send_ops_flags);
  }
  const std::lock_guard lock(fabric().mutex);
  pair->dynamic->number = fabric().next_pair++;
  if (!target) pair->qp_num = pair->dynamic->number;  // a target's is known when it receives
  fabric().pairs[pair->dynamic->number] = pair;
  return pair.get();
}

EXPORT ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) {
  auto& pair = static_cast<Pair&>(*qp);
  return pair.initiates() ? &pair.dynamic->requests : nullptr;
}

EXPORT mlx5dv_qp_ex* verbs_stub_addresses(ibv_qp_ex* qp) { return &dynamic_of(qp).addresses; }

}  // extern "C"
}  // namespace stub
