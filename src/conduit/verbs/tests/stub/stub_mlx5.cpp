// SPDX-License-Identifier: BSD-3-Clause
// What the stand-in for libmlx5 exports. All of it is done in the one for libibverbs (stub_dc.cpp).
#include <infiniband/mlx5dv.h>

extern "C" {

ibv_qp* verbs_stub_create_dc(ibv_qp_init_attr_ex* wanted, const mlx5dv_qp_init_attr* own);
mlx5dv_qp_ex* verbs_stub_addresses(ibv_qp_ex* qp);
bool verbs_stub_has_dc(void);

#define EXPORT [[gnu::visibility("default")]]
EXPORT bool mlx5dv_is_supported(ibv_device*) { return verbs_stub_has_dc(); }
EXPORT ibv_qp* mlx5dv_create_qp(ibv_context*, ibv_qp_init_attr_ex* wanted, mlx5dv_qp_init_attr* own) {
  return verbs_stub_create_dc(wanted, own);
}
EXPORT mlx5dv_qp_ex* mlx5dv_qp_ex_from_ibv_qp_ex(ibv_qp_ex* qp) { return verbs_stub_addresses(qp); }

}  // extern "C"
