// SPDX-License-Identifier: BSD-3-Clause
#include "bootstrap/pmix_library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "arch/libraries/library.hpp"
#include "arch/libraries/symbols.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::bootstrap {
namespace {

constexpr const char* kSoname = "libpmix.so.2";  // has been that since PMIx 2

std::string read_process_file(pid_t pid, const char* name) {
  std::ostringstream text;
  text << std::ifstream(fmt::format("/proc/{}/{}", pid, name)).rdbuf();
  return text.str();
}

// The parent of a process; 0 if it cannot be told. "PID (NAME) STATE PARENT ...": the name may be anything.
pid_t parent_of(pid_t pid) {
  const std::string text = read_process_file(pid, "stat");
  const auto name_end = std::min(text.rfind(')'), text.size());
  pid_t parent = 0;
  char state = 0;
  std::istringstream rest(text.substr(std::min(name_end + 1, text.size())));
  return rest >> state >> parent ? parent : 0;
}

// The libpmix of the nearest ancestor that has one, which is the launcher or its daemon on this node; "" if
// the system does not show another's mappings (the daemon may be another user's).
std::string launchers_library() {
  for (pid_t pid = getppid(); pid > 1; pid = parent_of(pid)) {
    std::string file = pmix_in_maps(read_process_file(pid, "maps"));
    if (!file.empty()) return file;
  }
  return {};
}

void* load_best(std::string* file, std::string* why) {
  *file = kSoname;
  if (void* loaded = dlopen(kSoname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return loaded;
  const std::string launchers = launchers_library();
  void* handle = launchers.empty() ? nullptr : arch::open_library(launchers.c_str(), why);
  if (handle != nullptr) {
    *file = launchers;
    return handle;
  }
  return arch::open_library(kSoname, why);
}

}  // namespace

int PmixLibrary::load(const std::string& file) {
  std::string chosen = file;
  std::string why;
  void* handle = file.empty() ? load_best(&chosen, &why) : arch::open_library(file.c_str(), &why);
  if (handle == nullptr) {
    return fail(
        OMPL_ERR_LAUNCH,
        "the launcher speaks PMIx, but its library cannot be loaded ({}); set OMPL_PMIX_LIBRARY to "
        "the launcher's {}, or install it",
        why, kSoname);
  }
  return find_all(handle, chosen);
}

int PmixLibrary::find_all(void* handle, const std::string& file) {
  const bool complete =
      arch::find_symbol(handle, "PMIx_Init", &init) &&
      arch::find_symbol(handle, "PMIx_Finalize", &finalize) &&
      arch::find_symbol(handle, "PMIx_Abort", &abort) && arch::find_symbol(handle, "PMIx_Put", &put) &&
      arch::find_symbol(handle, "PMIx_Commit", &commit) &&
      arch::find_symbol(handle, "PMIx_Fence", &fence) && arch::find_symbol(handle, "PMIx_Get", &get) &&
      arch::find_symbol(handle, "PMIx_Error_string", &error_string) &&
      arch::find_symbol(handle, "PMIx_Get_version", &get_version);
  if (!complete) {
    return fail(OMPL_ERR_LAUNCH, "{} is not a library of PMIx ({}); set OMPL_PMIX_LIBRARY to another",
                file, dlerror());
  }
  log::info("PMIx by {}: {}", file, get_version());
  return OMPL_OK;
}

std::string pmix_in_maps(std::string_view maps) {
  while (!maps.empty()) {
    const auto end = std::min(maps.find('\n'), maps.size());
    const auto line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    const auto begin = line.find('/');
    if (begin == std::string_view::npos || line.ends_with(" (deleted)")) continue;
    const auto path = line.substr(begin);
    if (path.substr(path.rfind('/') + 1).starts_with("libpmix.so")) return std::string(path);
  }
  return {};
}

}  // namespace ompl::bootstrap
