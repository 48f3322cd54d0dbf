// SPDX-License-Identifier: BSD-3-Clause
// XRC of the stand-in: domains, their shared receive queues and targets, and initiators. The rules are those of the
// InfiniBand specification and of the kernel's table of states.
#include <sys/stat.h>

#include <cerrno>

#include "stub_device.hpp"

namespace stub {
namespace {

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* wanted) {
  struct stat file {};
  if (!counts.have_all) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  constexpr uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  if (wanted->comp_mask != kNeeded || ::fstat(wanted->fd, &file) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  auto* domain = new Domain{};
  domain->context = context;
  domain->file = {file.st_dev, file.st_ino};
  return domain;
}

int close_xrcd(ibv_xrcd* xrcd) {
  delete static_cast<Domain*>(xrcd);
  return 0;
}

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* wanted) {
  constexpr uint32_t kNeeded =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  if (wanted->comp_mask != kNeeded || wanted->srq_type != IBV_SRQT_XRC) {
    errno = EINVAL;
    return nullptr;
  }
  auto shared = std::make_shared<SharedReceives>();
  shared->context = context;
  shared->pd = wanted->pd;
  shared->depth = wanted->attr.max_wr;
  shared->completions = wanted->cq;
  shared->domain = static_cast<Domain*>(wanted->xrcd)->file;
  const std::lock_guard lock(fabric().mutex);
  shared->number = fabric().next_pair++;
  fabric().queues[shared->number] = shared;
  return shared.get();
}

int get_srq_num(ibv_srq* srq, uint32_t* number) {
  *number = static_cast<SharedReceives*>(srq)->number;
  return 0;
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* wanted) {
  if (wanted->qp_type != IBV_QPT_XRC_RECV || wanted->comp_mask != IBV_QP_INIT_ATTR_XRCD) {
    errno = EINVAL;
    return nullptr;
  }
  auto pair = std::make_shared<Pair>();
  pair->context = context;
  pair->qp_type = IBV_QPT_XRC_RECV;
  pair->state = IBV_QPS_RESET;
  pair->domain = static_cast<Domain*>(wanted->xrcd)->file;
  const std::lock_guard lock(fabric().mutex);
  pair->qp_num = fabric().next_pair++;
  fabric().pairs[pair->qp_num] = pair;
  return pair.get();
}

// The same object for all who open it.
ibv_qp* open_qp(ibv_context* /*context*/, ibv_qp_open_attr* wanted) {
  constexpr uint32_t kNeeded = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  const std::lock_guard lock(fabric().mutex);
  const auto found = fabric().pairs.find(wanted->qp_num);
  if (wanted->comp_mask != kNeeded || found == fabric().pairs.end() ||
      found->second->qp_type != IBV_QPT_XRC_RECV ||
      found->second->domain != static_cast<Domain*>(wanted->xrcd)->file) {
    errno = EINVAL;
    return nullptr;
  }
  ++found->second->users;
  return found->second.get();
}

}  // namespace

void offer_xrc(verbs_context* context) {
  context->open_xrcd = open_xrcd;
  context->close_xrcd = close_xrcd;
  context->create_srq_ex = create_srq_ex;
  context->get_srq_num = get_srq_num;
  context->create_qp_ex = create_qp_ex;
  context->open_qp = open_qp;
}

// As the kernel's qp_state_table has it.
bool allows_xrc_change(const Pair& pair, ibv_qp_state to, int mask) {
  const bool target = pair.qp_type == IBV_QPT_XRC_RECV;
  switch (to) {
    case IBV_QPS_INIT:
      return mask == (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    case IBV_QPS_RTR:
      return mask == (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                      (target ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
    case IBV_QPS_RTS:
      return !target && mask == (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    default:
      return mask == IBV_QP_STATE;
  }
}

}  // namespace stub
