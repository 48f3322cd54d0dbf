// SPDX-License-Identifier: BSD-3-Clause
// Registration of the program's memory: what ompl_register() was told, and nothing that malloc was hooked for.
#include <iterator>

#include "arch/device_memory.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

namespace ompl {

int Runtime::register_memory(const void* address, std::size_t length) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  if (address == nullptr || length == 0 || length > UINTPTR_MAX - begin) {
    return fail(OMPL_ERR_ARG, "ompl_register: {} bytes at {} are no memory", length, address);
  }
  if (arch::is_device_memory(address)) {
    return fail(OMPL_ERR_UNSUPPORTED, "ompl_register: {} is memory of a GPU, which is not supported",
                address);
  }
  const std::lock_guard lock(regions_mutex_);
  const auto next = regions_.lower_bound(begin);
  const bool overlaps_next = next != regions_.end() && next->first - begin < length;
  const bool overlaps_last =
      next != regions_.begin() && begin - std::prev(next)->first < std::prev(next)->second;
  if (overlaps_next || overlaps_last) {
    const auto& other = overlaps_next ? *next : *std::prev(next);
    return fail(OMPL_ERR_ARG, "ompl_register: {} bytes at {} overlap the registered {} bytes at {:#x}",
                length, address, other.second, other.first);
  }
  for (const auto& conduit : conduits_) {
    if (const int code = conduit->register_memory(address, length); code != OMPL_OK) return code;
  }
  regions_.emplace(begin, length);
  return OMPL_OK;
}

int Runtime::unregister_memory(const void* address) {
  const std::lock_guard lock(regions_mutex_);
  const auto region = regions_.find(reinterpret_cast<uintptr_t>(address));
  if (region == regions_.end()) {
    return fail(OMPL_ERR_ARG, "ompl_unregister: no registration begins at {}", address);
  }
  for (const auto& conduit : conduits_) conduit->unregister_memory(address, region->second);
  regions_.erase(region);
  return OMPL_OK;
}

}  // namespace ompl
