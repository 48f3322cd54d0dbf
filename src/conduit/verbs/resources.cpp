// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/verbs/resources.hpp"

#include <fcntl.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>

#include "util/status.hpp"

namespace ompl::conduit::verbs {
namespace {

// Of a connection: 268 ms until a packet is sent again, six times (Soft-RoCE takes seven for no end).
constexpr uint8_t kTimeout = 16;
constexpr uint8_t kRetries = 6;
constexpr uint8_t kWithoutEnd = 7;
constexpr uint8_t kReads = 16;  // under way at once

int explain(const SharedState& shared, const char* what) {
  const int error = errno;
  const bool memory = error == ENOMEM || error == EPERM || error == EAGAIN;
  return fail(memory ? OMPL_ERR_MEMORY : OMPL_ERR_SYSTEM, "{} of {} failed: {}{}", what,
              shared.device->name, error_text(error),
              memory ? "; is the limit of locked memory too low (ulimit -l)?" : "");
}

ibv_qp_type connection_type(const SharedState& shared) {
  return shared.transport == Transport::xrc ? IBV_QPT_XRC_SEND : IBV_QPT_RC;
}

// A queue pair with the largest inline data up to kInline that the device grants.
Owned<ibv_qp> make(const SharedState& shared, const Resources& resources, ibv_qp_type type,
                   uint32_t inline_data, uint32_t* granted) {
  const Library& library = *shared.library;
  for (uint32_t wanted = inline_data;; wanted /= 2) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = resources.sends.get();
    if (type != IBV_QPT_XRC_SEND) attributes.recv_cq = resources.receives.get();
    attributes.qp_type = type;
    attributes.cap.max_send_wr = type == IBV_QPT_UD ? kDatagrams : kSends;
    attributes.cap.max_send_sge = 1;
    attributes.cap.max_inline_data = wanted;
    if (type == IBV_QPT_UD) {
      attributes.cap.max_recv_wr = kDatagrams;
      attributes.cap.max_recv_sge = 1;
    } else if (type == IBV_QPT_RC) {
      attributes.srq = resources.queue.get();
    }
    Owned<ibv_qp> pair(library.create_qp(shared.device->domain.get(), &attributes), library.destroy_qp);
    if (!pair && wanted > 0) continue;
    if (granted != nullptr) *granted = std::min(attributes.cap.max_inline_data, inline_data);
    return pair;
  }
}

}  // namespace

int Resources::open(const SharedState& shared) {
  const Library& library = *shared.library;
  const Device& device = *shared.device;
  block = std::make_unique<BufferBlock>();
  memory = {library.reg_mr(device.domain.get(), block.get(), sizeof *block, IBV_ACCESS_LOCAL_WRITE),
            library.dereg_mr};
  if (!memory) return explain(shared, "ibv_reg_mr");
  channel = {library.create_channel(device.context.get()), library.destroy_channel};
  if (!channel || ::fcntl(channel->fd, F_SETFL, O_NONBLOCK) != 0)
    return explain(shared, "ibv_create_comp_channel");
  const auto make_queue = [&](uint32_t depth) {
    return Owned<ibv_cq>(
        library.create_cq(device.context.get(), static_cast<int>(depth), nullptr, channel.get(), 0),
        library.destroy_cq);
  };
  sends = make_queue(kOutstanding + kDatagrams);
  receives = make_queue(kReceives + kDatagrams);
  if (!sends || !receives) return explain(shared, "ibv_create_cq");
  if (shared.transport == Transport::xrc) {
    queue = make_xrc_queue(shared, receives.get());
  } else {
    ibv_srq_init_attr attributes{};
    attributes.attr.max_wr = kReceives;
    attributes.attr.max_sge = 1;
    queue = {library.create_srq(device.domain.get(), &attributes), library.destroy_srq};
  }
  if (!queue) return explain(shared, "ibv_create_srq");
  if (shared.transport != Transport::dc) return open_connection_end(shared);
  inline_limit = kInline;
  const int code = dc.open(shared, *this, &inline_limit);
  if (code == OMPL_OK) end = dc.target();
  return code;
}

int Resources::open_connection_end(const SharedState& shared) {
  const Library& library = *shared.library;
  datagrams = make(shared, *this, IBV_QPT_UD, 0, nullptr);
  if (!datagrams) return explain(shared, "ibv_create_qp");
  end = datagrams->qp_num;
  if (!make(shared, *this, connection_type(shared), kInline, &inline_limit))
    return explain(shared, "ibv_create_qp");

  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = shared.device->port;
  state.qkey = shared.qkey;
  int result = library.modify_qp(datagrams.get(), &state,
                                 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  state.qp_state = IBV_QPS_RTR;
  if (result == 0) result = library.modify_qp(datagrams.get(), &state, IBV_QP_STATE);
  state.qp_state = IBV_QPS_RTS;
  if (result == 0) result = library.modify_qp(datagrams.get(), &state, IBV_QP_STATE | IBV_QP_SQ_PSN);
  errno = result;
  return result == 0 ? OMPL_OK : explain(shared, "ibv_modify_qp");
}

Owned<ibv_qp> Resources::make_pair(const SharedState& shared) const {
  return make(shared, *this, connection_type(shared), inline_limit, nullptr);
}

uint32_t random_packet_number(const ibv_qp& pair) {
  uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) < 0) number = pair.qp_num;
  return number & kLargestNumber;
}

int to_init(const SharedState& shared, ibv_qp* pair) {
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = shared.device->port;
  state.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  return shared.library->modify_qp(
      pair, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int to_receive(const SharedState& shared, ibv_qp* pair, const Route& route) {
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_RTR;
  state.path_mtu = route.mtu;
  state.dest_qp_num = route.queue_pair;
  state.rq_psn = route.first_packet;
  state.max_dest_rd_atomic =
      static_cast<uint8_t>(std::min<int>(kReads, shared.device->limits.max_qp_rd_atom));
  state.min_rnr_timer = kNotReadyTimer;
  state.ah_attr = route.path;
  // An initiator of XRC receives nothing but answers.
  const int receiver =
      pair->qp_type != IBV_QPT_XRC_SEND ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0;
  return shared.library->modify_qp(
      pair, &state,
      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | receiver);
}

int to_send(const SharedState& shared, ibv_qp* pair, uint32_t first_packet) {
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_RTS;
  state.timeout = kTimeout;
  state.retry_cnt = kRetries;
  state.rnr_retry = kWithoutEnd;
  state.sq_psn = first_packet;
  state.max_rd_atomic =
      static_cast<uint8_t>(std::min<int>(kReads, shared.device->limits.max_qp_init_rd_atom));
  return shared.library->modify_qp(pair, &state,
                                   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

void to_error(const SharedState& shared, ibv_qp* pair) {
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_ERR;
  shared.library->modify_qp(pair, &state, IBV_QP_STATE);
}

}  // namespace ompl::conduit::verbs
