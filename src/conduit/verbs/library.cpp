// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/verbs/library.hpp"

#include <dlfcn.h>

#include "arch/libraries/library.hpp"
#include "arch/libraries/symbols.hpp"
#include "util/status.hpp"

namespace ompl::conduit::verbs {

int Library::load(const char* file) {
  std::string why;
  void* const handle = arch::open_library(file, &why);
  if (handle == nullptr) {
    return fail(
        OMPL_ERR_UNSUPPORTED,
        "libibverbs cannot be loaded ({}): install libibverbs1 (rdma-core), or add its folder to "
        "LD_LIBRARY_PATH",
        why);
  }
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* function) {
    if (!arch::find_symbol(handle, name, function)) missing = name;
  };
  find("ibv_fork_init", &fork_init);
  find("ibv_get_device_list", &get_device_list);
  find("ibv_free_device_list", &free_device_list);
  find("ibv_open_device", &open_device);
  find("ibv_close_device", &close_device);
  find("ibv_query_device", &query_device);
  find("ibv_query_port", &query_port);
  find("_ibv_query_gid_ex", &query_gid);
  find("ibv_alloc_pd", &alloc_pd);
  find("ibv_dealloc_pd", &dealloc_pd);
  find("ibv_reg_mr", &reg_mr);
  find("ibv_dereg_mr", &dereg_mr);
  find("ibv_create_comp_channel", &create_channel);
  find("ibv_destroy_comp_channel", &destroy_channel);
  find("ibv_create_cq", &create_cq);
  find("ibv_destroy_cq", &destroy_cq);
  find("ibv_get_cq_event", &get_cq_event);
  find("ibv_ack_cq_events", &ack_cq_events);
  find("ibv_create_srq", &create_srq);
  find("ibv_destroy_srq", &destroy_srq);
  find("ibv_create_qp", &create_qp);
  find("ibv_modify_qp", &modify_qp);
  find("ibv_destroy_qp", &destroy_qp);
  find("ibv_create_ah", &create_ah);
  find("ibv_destroy_ah", &destroy_ah);
  find("ibv_wc_status_str", &status_text);
  if (missing == nullptr) return OMPL_OK;
  return fail(OMPL_ERR_UNSUPPORTED, "{} has no {}: rdma-core 32 or later is needed", file, missing);
}

}  // namespace ompl::conduit::verbs
