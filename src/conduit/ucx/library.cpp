// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ucx/library.hpp"

#include <dlfcn.h>

#include <string>

#include "arch/libraries/library.hpp"
#include "arch/libraries/symbols.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ucx {

// The first time UCX would take the signals of errors, put hooks into malloc and munmap, and print on
// standard output.
int Library::load(const char* file) {
  std::string why;
  void* const handle = arch::open_library(
      file, {"UCX_HANDLE_ERRORS=none", "UCX_MEM_EVENTS=no", "UCX_LOG_FILE=stderr"}, &why);
  if (handle == nullptr) {
    return fail(OMPL_ERR_UNSUPPORTED,
                "UCX cannot be loaded ({}): install UCX, or add its folder to LD_LIBRARY_PATH", why);
  }
  bool complete = true;
  const auto find = [&](const char* name, auto* function) {
    complete = complete && arch::find_symbol(handle, name, function);
  };
  find("ucp_get_version", &get_version);
  find("ucp_config_read", &config_read);
  find("ucp_config_modify", &config_modify);
  find("ucp_config_print", &config_print);
  find("ucp_config_release", &config_release);
  find("ucp_init_version", &init_version);
  find("ucp_cleanup", &cleanup);
  find("ucp_mem_map", &mem_map);
  find("ucp_mem_unmap", &mem_unmap);
  find("ucp_rkey_pack", &rkey_pack);
  find("ucp_rkey_buffer_release", &rkey_buffer_release);
  find("ucp_ep_rkey_unpack", &ep_rkey_unpack);
  find("ucp_rkey_destroy", &rkey_destroy);
  find("ucp_worker_create", &worker_create);
  find("ucp_worker_destroy", &worker_destroy);
  find("ucp_worker_query", &worker_query);
  find("ucp_worker_release_address", &worker_release_address);
  find("ucp_worker_get_efd", &worker_get_efd);
  find("ucp_worker_arm", &worker_arm);
  find("ucp_worker_progress", &worker_progress);
  find("ucp_worker_set_am_recv_handler", &worker_set_am_recv_handler);
  find("ucp_ep_create", &ep_create);
  find("ucp_ep_close_nbx", &ep_close_nbx);
  find("ucp_ep_flush_nbx", &ep_flush_nbx);
  find("ucp_put_nbx", &put_nbx);
  find("ucp_get_nbx", &get_nbx);
  find("ucp_am_send_nbx", &am_send_nbx);
  find("ucp_request_free", &request_free);
  find("ucs_status_string", &text);
  if (complete) return OMPL_OK;
  return fail(OMPL_ERR_UNSUPPORTED, "{} is not UCX 1.13 or later: {}", file, dlerror());
}

std::string Library::version() const {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  get_version(&major, &minor, &release);
  return fmt::format("{}.{}", major, minor);
}

}  // namespace ompl::conduit::ucx
