// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ucx/resources.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "conduit/common/ip_address.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ucx {

UcpContext::~UcpContext() {
  if (segment_ != nullptr) library_.mem_unmap(context_, segment_);
  if (context_ != nullptr) library_.cleanup(context_);
}

UcxChoice read_choice(const Library& library) {
  UcxChoice out;
  ucp_config_t* config = nullptr;
  if (library.config_read(nullptr, nullptr, &config) != UCS_OK) return out;
  char* text = nullptr;
  std::size_t size = 0;
  if (FILE* const file = ::open_memstream(&text, &size); file != nullptr) {
    library.config_print(config, file, nullptr, UCS_CONFIG_PRINT_CONFIG);
    std::fclose(file);
  }
  library.config_release(config);
  std::istringstream lines(text != nullptr ? text : "");
  std::free(text);
  for (std::string line; std::getline(lines, line);) {
    for (auto [name, value] :
         {std::pair("UCX_NET_DEVICES=", &out.devices), {"UCX_TLS=", &out.transports}}) {
      if (line.starts_with(name)) *value = line.substr(std::strlen(name));
    }
  }
  return out;
}

int UcpContext::make(const Job& job, const NetworkInterface* network) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = library_.config_read(nullptr, nullptr, &config);
  if (status == UCS_OK) {
    // Without hooks in munmap a cache of registrations would be wrong.
    library_.config_modify(config, "RCACHE_ENABLE", "n");
    if (network != nullptr) {
      library_.config_modify(config, "NET_DEVICES", network->name.c_str());
      const char* const family = is_v4(network->ip) ? "inet" : "inet6";
      // Named so since some version between 1.13 and 1.22.
      if (!is_v4(network->ip) && library_.config_modify(config, "AF_PRIO", family) != UCS_OK)
        library_.config_modify(config, "TCP_AF_PRIO", family);
    }
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED |
                        UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    params.features = UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.mt_workers_shared = 1;
    params.estimated_num_eps = job.size;
    status = library_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
    library_.config_release(config);
  }
  if (status == UCS_OK) return OMPL_OK;
  return fail(OMPL_ERR_UNSUPPORTED, "UCX {} does not start ({}): see UCX_TLS and UCX_NET_DEVICES",
              library_.version(), library_.text(status));
}

int UcpContext::open(const Job& job, const NetworkInterface* network) {
  int code = make(job, network);
  if (code == OMPL_OK) code = register_segment(job);
  if (code == OMPL_OK) code = choose_error_mode();
  return code;
}

// By an endpoint to ourselves, never used.
int UcpContext::choose_error_mode() {
  Worker worker(library_);
  const auto ignore = [](void*, const void*, std::size_t, void*, std::size_t,
                         const ucp_am_recv_param_t*) { return UCS_OK; };
  if (const int code = worker.open(*this, ignore, nullptr); code != OMPL_OK) return code;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address = reinterpret_cast<const ucp_address_t*>(worker.address().data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  ucp_ep_h endpoint = nullptr;
  if (library_.ep_create(worker.get(), &params, &endpoint) == UCS_OK) {
    error_mode_ = UCP_ERR_HANDLING_MODE_PEER;
  } else {
    log::warn("ucx: the transports of UCX_TLS do not tell when a rank dies");
  }
  return OMPL_OK;  // the worker's end is its endpoint's
}

int UcpContext::register_segment(const Job& job) {
  ucp_mem_map_params_t params{};
  params.field_mask =
      UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.address = job.segment;
  params.length = job.capacity;
  params.flags = UCP_MEM_MAP_NONBLOCK;  // most of the segment is not committed yet
  ucs_status_t status = library_.mem_map(context_, &params, &segment_);
  if (status != UCS_OK) {
    segment_ = nullptr;
    return fail(OMPL_ERR_UNSUPPORTED,
                "UCX cannot register the segment of {} bytes ({}): lower OMPL_SEGMENT_SIZE, or choose "
                "other transports by UCX_TLS",
                job.capacity, library_.text(status));
  }
  void* packed = nullptr;
  std::size_t size = 0;
  status = library_.rkey_pack(context_, segment_, &packed, &size);
  if (status != UCS_OK)
    return fail(OMPL_ERR_UNSUPPORTED, "UCX gives no key for the segment: {}", library_.text(status));
  key_.assign(static_cast<const char*>(packed), size);
  library_.rkey_buffer_release(packed);
  return OMPL_OK;
}

Worker::~Worker() {
  if (worker_ != nullptr) library_.worker_destroy(worker_);
}

int Worker::open(const UcpContext& context, ucp_am_recv_callback_t receive, void* argument) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = library_.worker_create(context.get(), &params, &worker_);
  if (status == UCS_OK) {
    ucp_am_handler_param_t handler{};
    handler.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = kMessageId;
    handler.cb = receive;
    handler.arg = argument;
    status = library_.worker_set_am_recv_handler(worker_, &handler);
  }
  if (status == UCS_OK) status = library_.worker_get_efd(worker_, &descriptor_);
  if (status == UCS_OK) status = query(context);
  if (status == UCS_OK) return OMPL_OK;
  return fail(OMPL_ERR_SYSTEM, "UCX makes no worker: {}", library_.text(status));
}

ucs_status_t Worker::query(const UcpContext& context) {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  // Shared memory tells of no failures: where they are asked for its part of the address is of no use.
  if (context.error_mode() == UCP_ERR_HANDLING_MODE_PEER) {
    attributes.field_mask |= UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS;
    attributes.address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY;
  }
  const ucs_status_t status = library_.worker_query(worker_, &attributes);
  if (status != UCS_OK) return status;
  address_.assign(reinterpret_cast<const char*>(attributes.address), attributes.address_length);
  library_.worker_release_address(worker_, attributes.address);
  one_piece_ = attributes.max_am_header;
  return UCS_OK;
}

}  // namespace ompl::conduit::ucx
