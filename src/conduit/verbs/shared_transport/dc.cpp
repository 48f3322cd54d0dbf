// SPDX-License-Identifier: BSD-3-Clause
// Which attributes each state of initiators and targets takes is mlx5's own; rdma-core's tests of DC show them.
#include "conduit/verbs/shared_transport/dc.hpp"

#include <infiniband/mlx5dv.h>

#include <algorithm>
#include <cerrno>

#include "arch/libraries/library.hpp"
#include "arch/libraries/symbols.hpp"
#include "conduit/verbs/link.hpp"
#include "conduit/verbs/resources.hpp"
#include "util/secret.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {

// libmlx5's direct verbs, loaded when DC is wanted and not before.
struct Mlx5 {
  decltype(&::mlx5dv_is_supported) is_supported = nullptr;
  decltype(&::mlx5dv_create_qp) create_qp = nullptr;
  decltype(&::mlx5dv_qp_ex_from_ibv_qp_ex) to_addresses = nullptr;
  decltype(&::ibv_qp_to_qp_ex) to_requests = nullptr;  // of libibverbs, which libmlx5 needs

  // OMPL_ERR_UNSUPPORTED, with the loader's reason. Loaded again it costs little.
  int load();
};

int Mlx5::load() {
  constexpr const char* kFile = "libmlx5.so.1";
  std::string why;
  void* const handle = arch::open_library(kFile, &why);
  if (handle == nullptr)
    return fail(OMPL_ERR_UNSUPPORTED,
                "DC needs libmlx5, which cannot be loaded ({}): install "
                "ibverbs-providers (rdma-core)",
                why);
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    if (!arch::find_symbol(handle, name, function)) missing = name;
  };
  find("mlx5dv_is_supported", &is_supported);
  find("mlx5dv_create_qp", &create_qp);
  find("mlx5dv_qp_ex_from_ibv_qp_ex", &to_addresses);
  find("ibv_qp_to_qp_ex", &to_requests);
  if (missing == nullptr) return OMPL_OK;
  return fail(OMPL_ERR_UNSUPPORTED, "{} has no {}: rdma-core 32 or later is needed", kFile, missing);
}

namespace {

int explain(const SharedState& shared, const char* what, int error) {
  return fail(error == ENOMEM ? OMPL_ERR_MEMORY : OMPL_ERR_UNSUPPORTED,
              "{} has no DC: {} failed: {}; OMPL_VERBS_TRANSPORT=rc does without", shared.device->name,
              what, error_text(error));
}

// A queue pair of a kind that only mlx5 has.
Owned<ibv_qp> make(const SharedState& shared, const Mlx5& mlx5, ibv_qp_init_attr_ex attributes,
                   const mlx5dv_dc_init_attr& kind) {
  attributes.qp_type = IBV_QPT_DRIVER;
  attributes.comp_mask |= IBV_QP_INIT_ATTR_PD;
  attributes.pd = shared.device->domain.get();
  mlx5dv_qp_init_attr own{};
  own.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC;
  own.dc_init_attr = kind;
  return {mlx5.create_qp(shared.device->context.get(), &attributes, &own), shared.library->destroy_qp};
}

}  // namespace

int Dc::open(const SharedState& shared, const Resources& resources, uint32_t* inline_limit) {
  shared_ = &shared;
  key_ = keyed_hash(shared.job->secret, "DC");
  Mlx5 mlx5;
  if (const int code = mlx5.load(); code != OMPL_OK) return code;
  if (!mlx5.is_supported(shared.device->context->device))
    return fail(OMPL_ERR_UNSUPPORTED,
                "{} has no DC, only mlx5 devices have it; OMPL_VERBS_TRANSPORT=rc does without",
                shared.device->name);
  if (const int error = make_target(mlx5, resources); error != 0)
    return explain(shared, "a DC target", error);
  for (DcInitiator& initiator : initiators_) {
    if (const int error = make_initiator(mlx5, resources, inline_limit, &initiator); error != 0)
      return explain(shared, "a DC initiator", error);
  }
  return OMPL_OK;
}

int Dc::make_target(const Mlx5& mlx5, const Resources& resources) {
  ibv_qp_init_attr_ex attributes{};
  attributes.send_cq = resources.sends.get();
  attributes.recv_cq = resources.receives.get();
  attributes.srq = resources.queue.get();
  mlx5dv_dc_init_attr kind{};
  kind.dc_type = MLX5DV_DCTYPE_DCT;
  kind.dct_access_key = key_;
  target_ = make(*shared_, mlx5, attributes, kind);
  if (!target_) return errno;
  if (const int error = to_init(*shared_, target_.get()); error != 0) return error;
  const Device& device = *shared_->device;
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_RTR;
  state.path_mtu = device.mtu;
  state.min_rnr_timer = kNotReadyTimer;
  state.ah_attr = device.path_to(device.gid, device.lid);
  return shared_->library->modify_qp(target_.get(), &state,
                                     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER);
}

int Dc::make_initiator(const Mlx5& mlx5, const Resources& resources, uint32_t* inline_limit,
                       DcInitiator* out) {
  ibv_qp_init_attr_ex attributes{};
  attributes.send_cq = resources.sends.get();
  attributes.recv_cq = resources.receives.get();
  attributes.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attributes.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                              IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND;
  attributes.cap.max_send_wr = kSends;
  attributes.cap.max_send_sge = 1;
  mlx5dv_dc_init_attr kind{};
  kind.dc_type = MLX5DV_DCTYPE_DCI;
  for (;; *inline_limit /= 2) {
    attributes.cap.max_inline_data = *inline_limit;
    out->pair = make(*shared_, mlx5, attributes, kind);
    if (out->pair || *inline_limit == 0) break;
  }
  if (!out->pair) return errno;
  out->requests = mlx5.to_requests(out->pair.get());
  out->addresses = mlx5.to_addresses(out->requests);
  return start(out->pair.get());
}

int Dc::start(ibv_qp* pair) const {
  const Device& device = *shared_->device;
  const Library& library = *shared_->library;
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_INIT;
  state.port_num = device.port;
  if (const int error = library.modify_qp(pair, &state, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT);
      error != 0)
    return error;
  state.qp_state = IBV_QPS_RTR;
  state.path_mtu = device.mtu;
  state.ah_attr = device.path_to(device.gid, device.lid);
  if (const int error = library.modify_qp(pair, &state, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU);
      error != 0)
    return error;
  return to_send(*shared_, pair, 0);
}

int Dc::lend(QueuePairLink& link) {
  if (link.initiator != nullptr) return 0;
  const auto free = std::ranges::find_if(
      initiators_, [](const DcInitiator& initiator) { return initiator.outstanding == 0; });
  if (free == initiators_.end()) return 0;
  if (free->broken) {
    ibv_qp_attr state{};
    state.qp_state = IBV_QPS_RESET;
    int error = shared_->library->modify_qp(free->pair.get(), &state, IBV_QP_STATE);
    if (error == 0) error = start(free->pair.get());
    if (error != 0) return error;
    free->broken = false;
  }
  if (free->link != nullptr) free->link->initiator = nullptr;
  free->link = &link;
  link.initiator = &*free;
  return 0;
}

int Dc::post(const QueuePairLink& link, const ibv_send_wr* list) const {
  const auto& initiator = static_cast<const DcInitiator&>(*link.initiator);
  ibv_qp_ex* const to = initiator.requests;
  ibv_wr_start(to);
  for (const ibv_send_wr* work = list; work != nullptr; work = work->next) {
    const bool in_line = (work->send_flags & IBV_SEND_INLINE) != 0;
    const auto& place = work->wr.rdma;
    to->wr_id = work->wr_id;
    to->wr_flags = work->send_flags & IBV_SEND_SIGNALED;
    switch (work->opcode) {
      case IBV_WR_RDMA_WRITE:
        ibv_wr_rdma_write(to, place.rkey, place.remote_addr);
        break;
      case IBV_WR_RDMA_WRITE_WITH_IMM:
        ibv_wr_rdma_write_imm(to, place.rkey, place.remote_addr, work->imm_data);
        break;
      case IBV_WR_RDMA_READ:
        ibv_wr_rdma_read(to, place.rkey, place.remote_addr);
        break;
      default:
        ibv_wr_send(to);
    }
    mlx5dv_wr_set_dc_addr(initiator.addresses, link.path.get(), link.partner, key_);
    if (in_line)
      ibv_wr_set_inline_data(to, reinterpret_cast<void*>(work->sg_list->addr), work->sg_list->length);
    else
      ibv_wr_set_sge_list(to, static_cast<std::size_t>(work->num_sge), work->sg_list);
  }
  return ibv_wr_complete(to);
}

}  // namespace ompl::conduit::verbs
