// SPDX-License-Identifier: BSD-3-Clause
// UCX by hand: memory that other ranks may put into, and workers with an endpoint to each of them. Every function throws
// std::runtime_error; how many threads may call a worker is what it was opened for.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/gathering.hpp"

namespace bench {

inline void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) throw std::runtime_error(std::string(what) + ": " + ucs_status_string(status));
}

// What UCX was told to go over.
inline std::string ucx_transport() {
  const char* chosen = std::getenv("UCX_TLS");
  return chosen != nullptr ? std::string("UCX_TLS=") + chosen : "chosen by UCX";
}

// A context and memory of UCX's own, which it can share with other processes. Nothing is given back: UCX's orderly way
// out would have to be agreed on with the other ranks.
class UcxMemory {
 public:
  // `workers`: how many there will be, each with threads of its own, which then all use the context.
  UcxMemory(std::size_t bytes, std::size_t workers) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    params.features = UCP_FEATURE_RMA;
    params.mt_workers_shared = workers > 1;
    check(ucp_init(&params, nullptr, &context_), "ucp_init");
    ucp_mem_map_params_t wanted{};
    wanted.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    wanted.length = bytes;
    wanted.flags = UCP_MEM_MAP_ALLOCATE;
    check(ucp_mem_map(context_, &wanted, &registration_), "ucp_mem_map");
    ucp_mem_attr_t attributes{};
    attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    check(ucp_mem_query(registration_, &attributes), "ucp_mem_query");
    address_ = attributes.address;
  }

  [[nodiscard]] ucp_context_h context() const { return context_; }
  [[nodiscard]] void* address() const { return address_; }
  // Those of all ranks, by rank.
  [[nodiscard]] std::vector<uint64_t> addresses(const Gathering& others) const {
    return others.all(reinterpret_cast<uint64_t>(address_));
  }
  [[nodiscard]] std::vector<std::vector<char>> keys(const Gathering& others) const {
    void* packed = nullptr;
    std::size_t size = 0;
    check(ucp_rkey_pack(context_, registration_, &packed, &size), "ucp_rkey_pack");
    auto all = others.all(packed, size);
    ucp_rkey_buffer_release(packed);
    return all;
  }

 private:
  ucp_context_h context_ = nullptr;
  ucp_mem_h registration_ = nullptr;
  void* address_ = nullptr;
};

class alignas(128) UcxWorker {
 public:
  // Collective; `memory` of all ranks is what is put into.
  void open(const UcxMemory& memory, ucs_thread_mode_t mode, const Gathering& others) {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = mode;
    check(ucp_worker_create(memory.context(), &params, &worker_), "ucp_worker_create");
    ucp_address_t* own = nullptr;
    std::size_t size = 0;
    check(ucp_worker_get_address(worker_, &own, &size), "ucp_worker_get_address");
    const auto addresses = others.all(own, size);
    ucp_worker_release_address(worker_, own);
    const auto bases = memory.addresses(others);
    const auto keys = memory.keys(others);
    peers_.resize(addresses.size());
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      if (static_cast<int>(i) == others.rank()) continue;
      ucp_ep_params_t to{};
      to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
      to.address = reinterpret_cast<const ucp_address_t*>(addresses[i].data());
      check(ucp_ep_create(worker_, &to, &peers_[i].endpoint), "ucp_ep_create");
      check(ucp_ep_rkey_unpack(peers_[i].endpoint, keys[i].data(), &peers_[i].key),
            "ucp_ep_rkey_unpack");
      peers_[i].base = bases[i];
    }
  }

  [[nodiscard]] ucs_thread_mode_t granted() const {
    ucp_worker_attr_t attributes{};
    attributes.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE;
    check(ucp_worker_query(worker_, &attributes), "ucp_worker_query");
    return attributes.thread_mode;
  }

  // To this offset of the peer's memory. The source may be used again on return.
  void put(int peer, const void* from, std::size_t to, std::size_t bytes) {
    const Peer& at = peers_[static_cast<std::size_t>(peer)];
    finish(ucp_put_nbx(at.endpoint, from, bytes, at.base + to, at.key, &kPlain), "ucp_put_nbx");
  }
  void fence() { check(ucp_worker_fence(worker_), "ucp_worker_fence"); }
  void flush(int peer) {
    finish(ucp_ep_flush_nbx(peers_[static_cast<std::size_t>(peer)].endpoint, &kPlain),
           "ucp_ep_flush_nbx");
  }
  void progress() { ucp_worker_progress(worker_); }

 private:
  static constexpr ucp_request_param_t kPlain{};
  struct Peer {
    ucp_ep_h endpoint = nullptr;
    ucp_rkey_h key = nullptr;
    uint64_t base = 0;
  };

  // Over memory a request is done at once.
  void finish(ucs_status_ptr_t request, const char* what) {
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), what);
    while (ucp_request_check_status(request) == UCS_INPROGRESS) progress();
    check(ucp_request_check_status(request), what);
    ucp_request_free(request);
  }

  ucp_worker_h worker_ = nullptr;
  std::vector<Peer> peers_;
};

}  // namespace bench
