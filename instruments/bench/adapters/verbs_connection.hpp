// SPDX-License-Identifier: BSD-3-Clause
// How programs over Verbs make a reliable connected queue pair, take it to another one, write by it and learn what is done.
// Every function throws std::runtime_error.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "harness/meeting.hpp"
#include "verbs_port.hpp"

namespace bench {

// What the other rank must know of a queue pair.
struct Card {
  uint32_t number, key;
  uint64_t base;  // of the memory that it may write
  ibv_gid gid;
  ibv_mtu mtu;
  uint16_t lid;
};

// `memory` is what the other rank may write.
inline Card card_of(const ibv_qp* pair, const ibv_mr* memory, const Port& port) {
  return {.number = pair->qp_num,
          .key = memory->rkey,
          .base = reinterpret_cast<uint64_t>(memory->addr),
          .gid = port.gid(),
          .mtu = port.limits().active_mtu,
          .lid = port.limits().lid};
}

// With the largest inline data up to `*in_request` bytes that the device grants, which is returned there.
inline ibv_qp* create_pair(ibv_pd* domain, ibv_cq* completions, uint32_t depth,
                           std::size_t* in_request) {
  for (;; *in_request /= 2) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = completions;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap.max_send_wr = depth;
    attributes.cap.max_send_sge = 1;
    attributes.cap.max_inline_data = static_cast<uint32_t>(*in_request);
    ibv_qp* const pair = ibv_create_qp(domain, &attributes);
    if (pair != nullptr || *in_request == 0) return made(pair, "ibv_create_qp");
  }
}

// Takes the pair through its states. It can send once the other rank has done the same.
inline void connect(ibv_qp* pair, const Port& port, const Card& peer) {
  constexpr uint8_t kTimeout = 16;  // 268 ms until a packet is sent again,
  constexpr uint8_t kRetries = 6;   // so often
  ibv_qp_attr state{};
  const auto change = [&](ibv_qp_state to, int what) {
    state.qp_state = to;
    check(ibv_modify_qp(pair, &state, IBV_QP_STATE | what), "ibv_modify_qp");
  };
  state.port_num = port.number();
  state.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  change(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  state.path_mtu = std::min(peer.mtu, port.limits().active_mtu);
  state.dest_qp_num = peer.number;
  state.ah_attr = port.path_to(peer.gid, peer.lid);
  change(IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  state.timeout = kTimeout;
  state.retry_cnt = kRetries;
  change(IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                          IBV_QP_MAX_QP_RD_ATOMIC);
}

// Posts an RDMA write of data with that local key, to `to` of what the peer's card names.
inline void write(ibv_qp* pair, const Card& peer, const void* from, uint32_t key, std::size_t to,
                  std::size_t bytes, unsigned flags, uint64_t number) {
  ibv_sge data{
      .addr = reinterpret_cast<uint64_t>(from), .length = static_cast<uint32_t>(bytes), .lkey = key};
  ibv_send_wr request{};
  request.wr_id = number;
  request.sg_list = &data;
  request.num_sge = bytes > 0 ? 1 : 0;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = flags;
  request.wr.rdma.remote_addr = peer.base + to;
  request.wr.rdma.rkey = peer.key;
  ibv_send_wr* refused = nullptr;
  check(ibv_post_send(pair, &request, &refused), "ibv_post_send");
}

// Those of the completions that were there; none is a failure.
inline std::span<const ibv_wc> take(ibv_cq* completions, std::span<ibv_wc> room) {
  const int found = ibv_poll_cq(completions, static_cast<int>(room.size()), room.data());
  if (found < 0) throw std::runtime_error("ibv_poll_cq failed");
  const auto done = room.first(static_cast<std::size_t>(found));
  for (const ibv_wc& each : done) {
    if (each.status != IBV_WC_SUCCESS)
      throw std::runtime_error(std::string("RDMA write: ") + ibv_wc_status_str(each.status));
  }
  return done;
}

}  // namespace bench
