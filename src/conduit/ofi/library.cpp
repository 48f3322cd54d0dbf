// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/library.hpp"

#include <dlfcn.h>

#include "arch/symbols.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {

int Library::load(const char* file) {
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return fail(
        OMPL_ERR_UNSUPPORTED,
        "libfabric cannot be loaded ({}): install libfabric, or add its folder to LD_LIBRARY_PATH",
        dlerror());
  }
  const bool complete = arch::find_symbol(handle, "fi_getinfo", &getinfo) &&
                        arch::find_symbol(handle, "fi_freeinfo", &freeinfo) &&
                        arch::find_symbol(handle, "fi_dupinfo", &dupinfo) &&
                        arch::find_symbol(handle, "fi_fabric", &fabric) &&
                        arch::find_symbol(handle, "fi_strerror", &strerror) &&
                        arch::find_symbol(handle, "fi_version", &version);
  if (complete) return OMPL_OK;
  return fail(OMPL_ERR_UNSUPPORTED, "{} is not libfabric: {}", file, dlerror());
}

}  // namespace ompl::conduit::ofi
