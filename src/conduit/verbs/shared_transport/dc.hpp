// SPDX-License-Identifier: BSD-3-Clause
// Dynamically connected transport of mlx5 devices (DC, mlx5dv): an endpoint has a few initiators for all its peers, and
// one target at which all of them arrive. The device connects an initiator to the target that a request names. Never
// run on hardware.
//
// An initiator serves one link until all that the link has posted is complete, as the device does: so what one peer
// breaks or holds up is no other peer's. One that broke is reset for the next link.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>

#include "conduit/verbs/shared_transport/xrc.hpp"

struct mlx5dv_qp_ex;

namespace ompl::conduit::verbs {

struct QueuePairLink;
struct Resources;
struct SharedState;

struct DcInitiator final : Initiator {
  ibv_qp_ex* requests = nullptr;      // the queue pair, for posting,
  mlx5dv_qp_ex* addresses = nullptr;  // and for naming the target
  QueuePairLink* link = nullptr;      // that it serves or served last
};

inline constexpr uint32_t kInitiators = 8;

class Dc {
 public:
  // Makes target and initiators. *inline_limit: the inline data wanted, and then what is granted.
  // OMPL_ERR_UNSUPPORTED if the device or this build has no DC.
  int open(const SharedState& shared, const Resources& resources, uint32_t* inline_limit);
  // The target's number.
  [[nodiscard]] uint32_t target() const { return target_->qp_num; }

  // Gives the link an initiator if it has none and one is free: link.initiator. An errno if one could not be reset.
  int lend(QueuePairLink& link);
  // Posts a list of requests of a link that has an initiator; an errno if none was posted.
  [[nodiscard]] int post(const QueuePairLink& link, const ibv_send_wr* list) const;

 private:
  [[nodiscard]] int make_target(const struct Mlx5& mlx5, const Resources& resources);
  [[nodiscard]] int make_initiator(const Mlx5& mlx5, const Resources& resources, uint32_t* inline_limit,
                                   DcInitiator* out);
  [[nodiscard]] int start(ibv_qp* pair) const;

  const SharedState* shared_ = nullptr;
  uint64_t key_ = 0;  // of all targets of the job
  Owned<ibv_qp> target_{nullptr, nullptr};
  std::array<DcInitiator, kInitiators> initiators_;
};

}  // namespace ompl::conduit::verbs
