// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/verbs/shared_transport/mlx5.hpp"

#include <dlfcn.h>

#include "arch/symbols.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {

int Mlx5::load(const char* file) {
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(OMPL_ERR_UNSUPPORTED,
                "DC needs libmlx5, which cannot be loaded ({}): install "
                "ibverbs-providers (rdma-core)",
                dlerror());
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    if (!arch::find_symbol(handle, name, function)) missing = name;
  };
  find("mlx5dv_is_supported", &is_supported);
  find("mlx5dv_create_qp", &create_qp);
  find("mlx5dv_qp_ex_from_ibv_qp_ex", &to_addresses);
  find("ibv_qp_to_qp_ex", &to_requests);
  if (missing == nullptr) return OMPL_OK;
  return fail(OMPL_ERR_UNSUPPORTED, "{} has no {}: rdma-core 32 or later is needed", file, missing);
}

}  // namespace ompl::conduit::verbs
