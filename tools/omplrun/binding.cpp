// SPDX-License-Identifier: BSD-3-Clause
#include "binding.hpp"

#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <thread>

namespace omplrun {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

}  // namespace

Binding::Binding(Options::Bind wish, uint32_t ranks) : ranks_(ranks) {
  if (wish == Options::Bind::none) return;
  // Saves reading the topology where there are plainly more ranks than cores.
  if (wish == Options::Bind::automatic && ranks > std::thread::hardware_concurrency()) return;
  hwloc_topology_init(&topology_);
  hwloc_topology_load(topology_);
  const Bitmap mine(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology_, mine.get(), HWLOC_CPUBIND_PROCESS) == 0) {
    hwloc_topology_restrict(topology_, mine.get(), 0);
  }
  cores_ = static_cast<unsigned>(std::max(hwloc_get_nbobjs_by_type(topology_, HWLOC_OBJ_CORE), 0));
  if (cores_ == 0 || (wish == Options::Bind::automatic && ranks > cores_)) {
    hwloc_topology_destroy(topology_);
    topology_ = nullptr;
  }
}

Binding::~Binding() {
  if (topology_ != nullptr) hwloc_topology_destroy(topology_);
}

void Binding::apply(uint32_t rank) const {
  if (topology_ == nullptr) return;
  const unsigned share = std::max(cores_ / ranks_, 1U);
  const Bitmap cpus(hwloc_bitmap_alloc());
  for (unsigned i = 0; i < share; ++i) {
    const auto* core = hwloc_get_obj_by_type(topology_, HWLOC_OBJ_CORE, (rank * share + i) % cores_);
    hwloc_bitmap_or(cpus.get(), cpus.get(), core->cpuset);
  }
  hwloc_set_cpubind(topology_, cpus.get(), HWLOC_CPUBIND_PROCESS);
}

}  // namespace omplrun
