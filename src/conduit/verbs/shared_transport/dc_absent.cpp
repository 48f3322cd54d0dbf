// SPDX-License-Identifier: BSD-3-Clause
// In place of dc.cpp where libmlx5's header is not there, or OMPL_WITH_VERBS_SHARED_TRANSPORT is off.
#include <cerrno>

#include "conduit/verbs/shared_transport/dc.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {

int Dc::open(const SharedState& /*shared*/, const Resources& /*resources*/,
             uint32_t* /*inline_limit*/) {
  return fail(
      OMPL_ERR_UNSUPPORTED,
      "this build has no DC: infiniband/mlx5dv.h (rdma-core) was not there, or "
      "OMPL_WITH_VERBS_SHARED_TRANSPORT off, when it was made; OMPL_VERBS_TRANSPORT=rc does without");
}
int Dc::lend(QueuePairLink& /*link*/) { return ENOSYS; }
int Dc::post(const QueuePairLink& /*link*/, const ibv_send_wr* /*list*/) const { return ENOSYS; }

}  // namespace ompl::conduit::verbs
