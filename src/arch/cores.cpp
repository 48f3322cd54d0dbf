// SPDX-License-Identifier: BSD-3-Clause
#include "arch/cores.hpp"

#ifdef OMPL_HAVE_HWLOC
#include <hwloc.h>

#include <algorithm>
#include <memory>

#include "arch/libraries/library.hpp"
#include "arch/libraries/symbols.hpp"
#endif

namespace ompl::arch {

#ifdef OMPL_HAVE_HWLOC
namespace {

constexpr const char* kSoname = "libhwloc.so.15";  // of hwloc 2

// Loaded when cores are asked for and not before; only its headers are needed to build.
struct Hwloc {
  decltype(&::hwloc_get_api_version) version = nullptr;
  decltype(&::hwloc_topology_init) init = nullptr;
  decltype(&::hwloc_topology_load) load = nullptr;
  decltype(&::hwloc_topology_destroy) destroy = nullptr;
  decltype(&::hwloc_get_type_depth) depth = nullptr;
  decltype(&::hwloc_get_nbobjs_by_depth) count = nullptr;
  decltype(&::hwloc_get_obj_by_depth) object = nullptr;
  decltype(&::hwloc_bitmap_next) next = nullptr;

  // Why not; "" if it can be used. It stays loaded.
  std::string open() {
    std::string why;
    void* const library = open_library(kSoname, &why);
    if (library == nullptr) return why;
    const bool whole = find_symbol(library, "hwloc_get_api_version", &version) &&
                       find_symbol(library, "hwloc_topology_init", &init) &&
                       find_symbol(library, "hwloc_topology_load", &load) &&
                       find_symbol(library, "hwloc_topology_destroy", &destroy) &&
                       find_symbol(library, "hwloc_get_type_depth", &depth) &&
                       find_symbol(library, "hwloc_get_nbobjs_by_depth", &count) &&
                       find_symbol(library, "hwloc_get_obj_by_depth", &object) &&
                       find_symbol(library, "hwloc_bitmap_next", &next);
    return whole ? "" : ::dlerror();
  }
};

std::string version_text(unsigned version) {
  return std::to_string(version >> 16) + "." + std::to_string(version >> 8 & 0xFF) + "." +
         std::to_string(version & 0xFF);
}

}  // namespace

std::string ask_hwloc(std::span<const uint64_t> set, Cores* cores) {
  Hwloc hwloc;
  if (std::string why = hwloc.open(); !why.empty()) return why;
  const std::string version = "hwloc, interface " + version_text(hwloc.version());
  hwloc_topology_t made = nullptr;
  if (hwloc.init(&made) != 0) return version + " cannot begin";
  const std::unique_ptr<hwloc_topology, decltype(hwloc.destroy)> topology(made, hwloc.destroy);
  if (hwloc.load(made) != 0) return version + " cannot read the machine";
  const int depth = hwloc.depth(made, HWLOC_OBJ_CORE);
  if (depth < 0) return version + " sees no cores";
  const Core wanted = processors_of(set);
  std::vector<Core> list;
  for (unsigned i = 0; i < hwloc.count(made, depth); ++i) {
    Core core;
    const hwloc_obj_t object = hwloc.object(made, depth, i);
    for (int at = hwloc.next(object->cpuset, -1); at >= 0; at = hwloc.next(object->cpuset, at)) {
      const auto processor = static_cast<unsigned>(at);
      if (std::ranges::binary_search(wanted, processor)) core.push_back(processor);
    }
    if (!core.empty()) list.push_back(std::move(core));
  }
  if (list.empty()) return version + " sees none of the process's processors";
  *cores = {.list = std::move(list), .known_by = version};
  return "";
}
#else
std::string ask_hwloc(std::span<const uint64_t> /*set*/, Cores* /*cores*/) {
  return "hwloc is not built in";
}
#endif

Core processors_of(std::span<const uint64_t> set) {
  Core processors;
  for (unsigned i = 0; i < set.size() * 64; ++i)
    if ((set[i / 64] >> i % 64 & 1) != 0) processors.push_back(i);
  return processors;
}

Cores cores_of(std::span<const uint64_t> set) {
  Cores cores;
  const std::string why_not = ask_hwloc(set, &cores);
  if (why_not.empty()) return cores;
  cores = {.list = {}, .known_by = "every processor taken for a core: " + why_not};
  for (const unsigned processor : processors_of(set)) cores.list.push_back({processor});
  return cores;
}

}  // namespace ompl::arch
