// SPDX-License-Identifier: BSD-3-Clause
// libfabric, loaded when a network is needed and not before: the tree builds with libfabric's headers
// alone and starts on machines without it. Every other call of libfabric is an inline function of its
// headers that goes through a table of the object.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <memory>

namespace ompl::conduit::ofi {

// A list of fi_info; freed when it goes.
struct FreeInfo {
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  void operator()(fi_info* info) const { freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

// The functions libfabric exports. Once loaded it stays: its providers register exit handlers.
struct Library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  decltype(&::fi_version) version = nullptr;

  // OMPL_ERR_UNSUPPORTED, with the loader's reason, if `file` cannot be loaded.
  int load(const char* file = "libfabric.so.1");

  [[nodiscard]] Info own(fi_info* info) const { return {info, FreeInfo{freeinfo}}; }
  [[nodiscard]] Info copy(const fi_info* info) const { return own(dupinfo(info)); }

  // The text of a negative result of libfabric.
  [[nodiscard]] const char* text(ssize_t result) const { return strerror(static_cast<int>(-result)); }
};

// An object of libfabric; closed when it goes.
struct CloseFid {
  template <class Object>
  void operator()(Object* object) const {
    fi_close(&object->fid);
  }
};
template <class Object>
using Fid = std::unique_ptr<Object, CloseFid>;

}  // namespace ompl::conduit::ofi
