// SPDX-License-Identifier: BSD-3-Clause
// libibverbs, loaded when a network is needed and not before. Posting and polling are inline functions of its
// header that go through the device's table: nothing of ours stands between.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

namespace ompl::conduit::verbs {

// An object of libibverbs; destroyed when it goes.
template <class Object>
using Owned = std::unique_ptr<Object, int (*)(Object*)>;

// The functions libibverbs exports. Once loaded it stays: drivers register exit handlers.
struct Library {
  decltype(&::ibv_fork_init) fork_init = nullptr;
  decltype(&::ibv_get_device_list) get_device_list = nullptr;
  decltype(&::ibv_free_device_list) free_device_list = nullptr;
  decltype(&::ibv_open_device) open_device = nullptr;
  decltype(&::ibv_close_device) close_device = nullptr;
  decltype(&::ibv_query_device) query_device = nullptr;
  int (*query_port)(ibv_context*, uint8_t port, _compat_ibv_port_attr*) = nullptr;
  decltype(&::_ibv_query_gid_ex) query_gid = nullptr;
  decltype(&::ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&::ibv_dealloc_pd) dealloc_pd = nullptr;
  ibv_mr* (*reg_mr)(ibv_pd*, void*, size_t, int access) = nullptr;
  decltype(&::ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&::ibv_create_comp_channel) create_channel = nullptr;
  decltype(&::ibv_destroy_comp_channel) destroy_channel = nullptr;
  decltype(&::ibv_create_cq) create_cq = nullptr;
  decltype(&::ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&::ibv_get_cq_event) get_cq_event = nullptr;
  decltype(&::ibv_ack_cq_events) ack_cq_events = nullptr;
  decltype(&::ibv_create_srq) create_srq = nullptr;
  decltype(&::ibv_destroy_srq) destroy_srq = nullptr;
  decltype(&::ibv_create_qp) create_qp = nullptr;
  decltype(&::ibv_modify_qp) modify_qp = nullptr;
  decltype(&::ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&::ibv_create_ah) create_ah = nullptr;
  decltype(&::ibv_destroy_ah) destroy_ah = nullptr;
  decltype(&::ibv_wc_status_str) status_text = nullptr;

  // OMPL_ERR_UNSUPPORTED, with the loader's reason, if `file` cannot be loaded.
  int load(const char* file = "libibverbs.so.1");
};

}  // namespace ompl::conduit::verbs
