// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/library.hpp"

#include <dlfcn.h>

#include "util/status.hpp"

namespace ompl::conduit::ofi {
namespace {

template <class Function>
bool find(void* handle, const char* name, Function* out) {
  *out = reinterpret_cast<Function>(dlsym(handle, name));
  return *out != nullptr;
}

}  // namespace

int Library::load(const char* file) {
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return fail(
        OMPL_ERR_UNSUPPORTED,
        "libfabric cannot be loaded ({}): install libfabric, or add its folder to LD_LIBRARY_PATH",
        dlerror());
  }
  const bool complete = find(handle, "fi_getinfo", &getinfo) &&
                        find(handle, "fi_freeinfo", &freeinfo) &&
                        find(handle, "fi_dupinfo", &dupinfo) && find(handle, "fi_fabric", &fabric) &&
                        find(handle, "fi_strerror", &strerror) && find(handle, "fi_version", &version);
  if (complete) return OMPL_OK;
  return fail(OMPL_ERR_UNSUPPORTED, "{} is not libfabric: {}", file, dlerror());
}

}  // namespace ompl::conduit::ofi
