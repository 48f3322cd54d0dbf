// SPDX-License-Identifier: BSD-3-Clause
// libpmix, loaded when a launcher speaks PMIx and not before; only its headers are needed to build.
#pragma once

#include <pmix.h>

#include <string>
#include <string_view>

namespace ompl::bootstrap {

// The functions of a loaded libpmix. It stays loaded: it has threads and exit handlers of its own.
struct PmixLibrary {
  decltype(&::PMIx_Init) init = nullptr;
  decltype(&::PMIx_Finalize) finalize = nullptr;
  decltype(&::PMIx_Abort) abort = nullptr;
  decltype(&::PMIx_Put) put = nullptr;
  decltype(&::PMIx_Commit) commit = nullptr;
  decltype(&::PMIx_Fence) fence = nullptr;
  decltype(&::PMIx_Get) get = nullptr;
  decltype(&::PMIx_Error_string) error_string = nullptr;
  decltype(&::PMIx_Get_version) get_version = nullptr;

  // Loads `file`, or if that is empty the library that suits the launcher best: one that this process has
  // loaded already (MPI's), the one that the launcher itself uses, the system's. OMPL_ERR_LAUNCH says why
  // none could be loaded.
  int load(const std::string& file);

 private:
  int find_all(void* handle, const std::string& file);
};

// The file name of the libpmix among the mappings of a process, as /proc/PID/maps lists them; "" if none.
std::string pmix_in_maps(std::string_view maps);

}  // namespace ompl::bootstrap
