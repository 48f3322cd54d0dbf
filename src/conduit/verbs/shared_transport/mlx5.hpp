// SPDX-License-Identifier: BSD-3-Clause
// libmlx5's direct verbs, loaded when DC is wanted and not before.
#pragma once

#include <infiniband/mlx5dv.h>

namespace ompl::conduit::verbs {

struct Mlx5 {
  decltype(&::mlx5dv_is_supported) is_supported = nullptr;
  decltype(&::mlx5dv_create_qp) create_qp = nullptr;
  decltype(&::mlx5dv_qp_ex_from_ibv_qp_ex) to_addresses = nullptr;
  decltype(&::ibv_qp_to_qp_ex) to_requests = nullptr;  // of libibverbs, which libmlx5 needs

  // OMPL_ERR_UNSUPPORTED, with the loader's reason. Loaded again it costs little.
  int load(const char* file = "libmlx5.so.1");
};

}  // namespace ompl::conduit::verbs
