// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/library.hpp"

#include <dlfcn.h>

#include <string>

#include "arch/libraries/library.hpp"
#include "arch/libraries/symbols.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {

// libpsm2, of which many builds of libfabric are linked, takes SIGTERM, SIGINT and the signals of errors as soon as it is
// loaded, and ends the process inside its own destructors, where it may hang.
int Library::load(const char* file) {
  std::string why;
  void* const handle = arch::open_library(file, {"IPATH_NO_BACKTRACE=1", "HFI_NO_BACKTRACE=1"}, &why);
  if (handle == nullptr) {
    return fail(
        OMPL_ERR_UNSUPPORTED,
        "libfabric cannot be loaded ({}): install libfabric, or add its folder to LD_LIBRARY_PATH",
        why);
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
