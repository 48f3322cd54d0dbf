// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/library.hpp"

#include <dlfcn.h>

#include <mutex>
#include <string>
#include <vector>

#include "arch/environment.hpp"
#include "arch/library.hpp"
#include "arch/signals.hpp"
#include "arch/symbols.hpp"
#include "util/status.hpp"

namespace ompl::conduit::ofi {

namespace {

// libpsm2, of which many builds of libfabric are linked, takes SIGTERM, SIGINT and the signals of errors as soon as it is
// loaded, and ends the process inside its own destructors, where it may hang.
void* open_quietly(const char* file, std::string* why) {
  static std::mutex one_at_a_time;
  static std::vector<char*> variables;
  const std::lock_guard lock(one_at_a_time);
  if (void* loaded = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); loaded != nullptr)
    return loaded;
  const arch::KeptSignals kept;
  const arch::AddedVariables added(&variables, {"IPATH_NO_BACKTRACE=1", "HFI_NO_BACKTRACE=1"});
  return arch::open_library(file, why);
}

}  // namespace

int Library::load(const char* file) {
  std::string why;
  void* const handle = open_quietly(file, &why);
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
