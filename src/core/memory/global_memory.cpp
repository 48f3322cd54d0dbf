// SPDX-License-Identifier: BSD-3-Clause
#include "core/memory/global_memory.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "arch/cancellation.hpp"
#include "arch/memory/device_memory.hpp"
#include "util/status.hpp"

namespace ompl {

int GlobalMemory::create(uint32_t rank, uint64_t nonce, bool huge_pages) {
  rank_ = rank;
  if (const SegmentPlace place = node_memory_.take_place(); place.fd >= 0) {
    const int code = segment_.create(capacity_, nonce, huge_pages, place);
    if (code != OMPL_ERR_UNSUPPORTED) return code;
    node_memory_.give_up();
  }
  return segment_.create(capacity_, nonce, huge_pages);
}

void GlobalMemory::close() {
  conduits_.clear();
  restore_all();
  std::ranges::fill(bases_, nullptr);
  segment_.destroy();
  node_memory_.close();
}

void* GlobalMemory::pointer(uint32_t rank, uint64_t offset) const {
  if (rank >= bases_.size() || bases_[rank] == nullptr) return nullptr;
  Extent found;
  if (rank != rank_) local_range(&found);
  const bool known = found.covers(offset, 1, found.generation) || allocations_.find(offset, &found);
  return known ? bases_[rank] + offset : nullptr;
}

bool GlobalMemory::offset_of(const void* address, std::size_t length, uint64_t* offset) const {
  const uint64_t at =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(segment_.base());
  Extent found;
  if (at >= segment_.capacity() || !is_symmetric(at) || !allocations_.find(at, &found) ||
      !found.covers(at, length, found.generation))
    return false;
  *offset = at;
  return true;
}

void GlobalMemory::local_range(Extent* out) const {
  if (!accepts_local()) return;
  for (;;) {
    const uint64_t before = allocations_.generation().load(std::memory_order_acquire);
    if (before % 2 != 0) continue;
    const uint64_t begin = symmetric_end_.load(std::memory_order_acquire);
    if (allocations_.generation().load(std::memory_order_relaxed) != before) continue;
    *out = {.begin = begin, .length = capacity_ - begin, .generation = before};
    return;
  }
}

int GlobalMemory::allocate(std::size_t size, uint64_t* offset) { return allocate(size, size, offset); }

int GlobalMemory::allocate(std::size_t size, std::size_t first, uint64_t* offset) {
  const std::lock_guard lock(mutex_);
  uint64_t begin = 0;
  int code = OMPL_OK;
  try {
    begin = allocator_.allocate(size);
    const uint64_t limit = areas_ ? areas_->lowest() : capacity_;
    code = begin != 0 && size <= limit - begin && begin < limit
               ? commit(begin, size, first)
               : fail(OMPL_ERR_MEMORY,
                      "ompl_alloc: no room for {} bytes in the segment of {}{}; raise "
                      "OMPL_SEGMENT_SIZE",
                      size, segment_.capacity(),
                      limit < capacity_
                          ? fmt::format(", of which this rank's own use those from {:#x} on", limit)
                          : "");
  } catch (const std::bad_alloc&) {  // told to the others as any shortage
    code = fail(OMPL_ERR_MEMORY, "ompl_alloc: out of memory");
  }
  if (code == OMPL_OK) {
    symmetric_end_.store(std::max(allocator_.end(), kFirstOffset), std::memory_order_release);
    if (!allocations_.insert(begin, size)) {
      revoke(begin, size, conduits_.size(), Segment::Side::bottom);
      code = fail(OMPL_ERR_MEMORY, "ompl_alloc: too many allocations");
    }
  }
  if (code == OMPL_OK) {
    *offset = begin;
  } else if (begin != 0) {
    allocator_.free(begin, size);
    follow_end();
  }
  return code;
}

void GlobalMemory::withdraw(uint64_t offset) {
  const std::lock_guard lock(mutex_);
  allocations_.erase(offset);
}

void GlobalMemory::release(uint64_t offset, std::size_t size) {
  const std::lock_guard lock(mutex_);
  revoke(offset, size, conduits_.size(), Segment::Side::bottom);
  allocator_.free(offset, size);
  follow_end();
}

// Something of all ranks has gone: what stands above is local from now on.
void GlobalMemory::follow_end() {
  const uint64_t end = std::max(allocator_.end(), kFirstOffset);
  if (symmetric_end_.exchange(end, std::memory_order_acq_rel) != end) allocations_.touch();
}

int GlobalMemory::commit_rest(uint64_t begin, std::size_t size) {
  const arch::Uncancelled whole;
  const std::lock_guard lock(mutex_);
  return segment_.commit_rest(begin, size, node_);
}

int GlobalMemory::commit(uint64_t begin, std::size_t size, Segment::Side side) {
  const arch::Uncancelled whole;
  if (const int code = segment_.commit(begin, size, node_, side); code != OMPL_OK) return code;
  return tell_conduits(begin, size, side);
}

int GlobalMemory::commit(uint64_t begin, std::size_t size, std::size_t first) {
  const arch::Uncancelled whole;
  if (const int code = segment_.commit_partly(begin, size, first, node_); code != OMPL_OK) return code;
  return tell_conduits(begin, size, Segment::Side::bottom);
}

int GlobalMemory::tell_conduits(uint64_t begin, std::size_t size, Segment::Side side) {
  const bool symmetric = side == Segment::Side::bottom;
  for (std::size_t done = 0; done < conduits_.size(); ++done) {
    int code = OMPL_ERR_MEMORY;
    try {
      conduit::Conduit& conduit = *conduits_[done];
      code = symmetric ? conduit.commit(begin, size) : conduit.commit_local(begin, size);
    } catch (const std::bad_alloc&) {
      revoke(begin, size, done, side);
      throw;
    }
    if (code != OMPL_OK) {
      revoke(begin, size, done, side);
      return code;
    }
  }
  return OMPL_OK;
}

// Of the first `count` conduits.
void GlobalMemory::revoke(uint64_t begin, std::size_t size, std::size_t count, Segment::Side side) {
  for (std::size_t i = 0; i < count; ++i) {
    if (side == Segment::Side::bottom) {
      conduits_[i]->release(begin, size);
    } else {
      conduits_[i]->release_local(begin, size);
    }
  }
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
