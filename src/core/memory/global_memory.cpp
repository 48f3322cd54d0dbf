// SPDX-License-Identifier: BSD-3-Clause
#include "core/memory/global_memory.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "arch/cancellation.hpp"
#include "arch/device_memory.hpp"
#include "util/status.hpp"

namespace ompl {

void GlobalMemory::close() {
  conduits_.clear();
  std::ranges::fill(bases_, nullptr);
  segment_.destroy();
}

void* GlobalMemory::pointer(uint32_t rank, uint64_t offset) const {
  Extent found;
  if (rank >= bases_.size() || bases_[rank] == nullptr || !allocations_.find(offset, &found))
    return nullptr;
  return bases_[rank] + offset;
}

bool GlobalMemory::offset_of(const void* address, std::size_t length, uint64_t* offset) const {
  const uint64_t at =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(segment_.base());
  Extent found;
  if (at >= segment_.capacity() || !allocations_.find(at, &found) ||
      !found.covers(at, length, found.generation))
    return false;
  *offset = at;
  return true;
}

int GlobalMemory::allocate(std::size_t size, uint64_t* offset) {
  uint64_t begin = 0;
  int code = OMPL_OK;
  try {
    begin = allocator_.allocate(size);
    code = begin != 0 ? commit(begin, size)
                      : fail(OMPL_ERR_MEMORY,
                             "ompl_alloc: no room for {} bytes in the segment of {}; raise "
                             "OMPL_SEGMENT_SIZE",
                             size, segment_.capacity());
  } catch (const std::bad_alloc&) {  // told to the others as any shortage
    code = fail(OMPL_ERR_MEMORY, "ompl_alloc: out of memory");
  }
  if (code == OMPL_OK && !allocations_.insert(begin, size)) {
    revoke(begin, size, conduits_.size());
    code = fail(OMPL_ERR_MEMORY, "ompl_alloc: too many allocations");
  }
  if (code == OMPL_OK) {
    *offset = begin;
  } else if (begin != 0) {
    allocator_.free(begin, size);
  }
  return code;
}

void GlobalMemory::release(uint64_t offset, std::size_t size) {
  revoke(offset, size, conduits_.size());
  allocator_.free(offset, size);
}

int GlobalMemory::commit(uint64_t begin, std::size_t size) {
  const arch::Uncancelled whole;
  if (const int code = segment_.commit(begin, size, node_); code != OMPL_OK) return code;
  for (std::size_t done = 0; done < conduits_.size(); ++done) {
    int code = OMPL_ERR_MEMORY;
    try {
      code = conduits_[done]->commit(begin, size);
    } catch (const std::bad_alloc&) {
      revoke(begin, size, done);
      throw;
    }
    if (code != OMPL_OK) {
      revoke(begin, size, done);
      return code;
    }
  }
  return OMPL_OK;
}

// Of the first `count` conduits.
void GlobalMemory::revoke(uint64_t begin, std::size_t size, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) conduits_[i]->release(begin, size);
}

// --- Memory of the program: what ompl_register() was told, and nothing that malloc was hooked for.

int GlobalMemory::register_memory(const void* address, std::size_t length) {
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

int GlobalMemory::unregister_memory(const void* address) {
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
