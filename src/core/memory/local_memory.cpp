// SPDX-License-Identifier: BSD-3-Clause
// The part of GlobalMemory that one rank allocates without the others.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "arch/cancellation.hpp"
#include "core/memory/global_memory.hpp"
#include "util/status.hpp"

namespace ompl {

// With the mutex held, as all that is private here. The conduits are known by now.
LocalAreas& GlobalMemory::areas() {
  if (areas_) return *areas_;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t granule = page;
  for (const auto& conduit : conduits_) {
    const std::size_t pieces = conduit->capabilities().local_pieces;
    const std::size_t piece = (capacity_ + pieces - 1) / pieces;
    granule = std::max(granule, (piece + page - 1) / page * page);
  }
  return areas_.emplace(capacity_, granule);
}

int GlobalMemory::take_area(AreaKind kind, std::size_t length, uint64_t highest, Area** out) {
  const uint64_t floor = symmetric_end_.load(std::memory_order_relaxed);
  Area* const area = areas().take(kind, length, floor, highest);
  if (area == nullptr) {
    return fail(
        OMPL_ERR_MEMORY,
        "no room for {} bytes of local memory above {:#x} in the segment of {}, which gives it in "
        "pieces of {}; raise OMPL_SEGMENT_SIZE",
        length, floor, capacity_, areas().granule());
  }
  int code = OMPL_ERR_MEMORY;
  try {
    code = commit(area->begin, length, Segment::Side::top);
  } catch (const std::bad_alloc&) {
    areas_->give_back(*area);
    throw;
  }
  if (code != OMPL_OK) {
    areas_->give_back(*area);
    return code;
  }
  *out = area;
  return OMPL_OK;
}

void GlobalMemory::drop_area(const Area& area) {
  revoke(area.begin, area.length, conduits_.size(), Segment::Side::top);
  areas_->give_back(area);
}

// Areas of small allocations grow with their number, since some conduits have few pieces.
int GlobalMemory::take_small(std::size_t size, uint64_t* offset) {
  Area* area = nullptr;
  uint64_t begin = areas().take_small(size, &area);
  if (begin == 0) {
    if (const int code = take_area(AreaKind::small, next_small_area_, UINT64_MAX, &area);
        code != OMPL_OK)
      return code;
    next_small_area_ = std::min(2 * next_small_area_, kLastSmallArea);
    try {
      begin = areas_->take_small(size, &area);
    } catch (const std::bad_alloc&) {
      drop_area(*area);
      throw;
    }
  }
  std::memset(segment_.base() + begin, 0, size);
  *offset = begin;
  return OMPL_OK;
}

int GlobalMemory::allocate_local(std::size_t size, uint64_t* offset) {
  if (size == 0 || offset == nullptr) {
    return fail(OMPL_ERR_ARG, "ompl_alloc_local: {}",
                size == 0 ? "the size is 0" : "the result pointer is null");
  }
  const arch::Uncancelled whole;
  const std::lock_guard lock(mutex_);
  accept_local();
  uint64_t begin = 0;
  try {
    int code = OMPL_ERR_MEMORY;
    if (size <= kFirstSmallArea / 4) code = take_small(size, &begin);
    if (code != OMPL_OK) {  // or there is no room for an area of small ones
      Area* area = nullptr;
      code = take_area(AreaKind::local, size, UINT64_MAX, &area);
      if (code != OMPL_OK) return code;
      begin = area->begin;
    }
  } catch (const std::bad_alloc&) {
    return fail(OMPL_ERR_MEMORY, "ompl_alloc_local: out of memory");
  }
  if (!allocations_.insert(begin, size)) {
    give_back(begin, size);
    return fail(OMPL_ERR_MEMORY, "ompl_alloc_local: too many allocations");
  }
  *offset = begin;
  return OMPL_OK;
}

int GlobalMemory::withdraw_local(uint64_t offset, std::size_t* size) {
  const std::lock_guard lock(mutex_);
  const Area* const area = areas_ ? areas_->find(offset) : nullptr;
  Extent found;
  const bool own = area != nullptr && (area->kind == AreaKind::local || area->kind == AreaKind::small);
  if (!own || !allocations_.find(offset, &found) || found.begin != offset) {
    return fail(
        OMPL_ERR_OFFSET,
        "ompl_free_local: {:#x} is not what an ompl_alloc_local returned here, or was freed before",
        offset);
  }
  allocations_.erase(offset);
  *size = found.length;
  return OMPL_OK;
}

void GlobalMemory::release_local(uint64_t offset, std::size_t size) {
  const arch::Uncancelled whole;
  const std::lock_guard lock(mutex_);
  give_back(offset, size);
}

// --- Of a team, whose members agree on an offset (api/team_memory.cpp).

int GlobalMemory::reserve_team(std::size_t size, uint64_t highest, uint64_t* offset) {
  const std::lock_guard lock(mutex_);
  accept_local();
  const uint64_t floor = symmetric_end_.load(std::memory_order_relaxed);
  const Area* area = nullptr;
  try {
    area = areas().take(AreaKind::team, size, floor, highest);
  } catch (const std::bad_alloc&) {
    return fail(OMPL_ERR_MEMORY, "ompl_team_alloc: out of memory");
  }
  if (area == nullptr) {
    return fail(OMPL_ERR_MEMORY,
                "ompl_team_alloc: no room for {} bytes above {:#x} that is free at every member; raise "
                "OMPL_SEGMENT_SIZE",
                size, floor);
  }
  *offset = area->begin;
  return OMPL_OK;
}

void GlobalMemory::cancel_team(uint64_t offset) {
  const std::lock_guard lock(mutex_);
  areas_->give_back(*areas_->find(offset));
}

int GlobalMemory::commit_team(uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const std::size_t size = areas_->find(offset)->length;
  try {
    if (const int code = commit(offset, size, Segment::Side::top); code != OMPL_OK) return code;
  } catch (const std::bad_alloc&) {
    return fail(OMPL_ERR_MEMORY, "ompl_team_alloc: out of memory");
  }
  if (allocations_.insert(offset, size)) return OMPL_OK;
  revoke(offset, size, conduits_.size(), Segment::Side::top);
  return fail(OMPL_ERR_MEMORY, "ompl_team_alloc: too many allocations");
}

bool GlobalMemory::is_team(uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const Area* const area = areas_ ? areas_->find(offset) : nullptr;
  return area != nullptr && area->kind == AreaKind::team && area->begin == offset;
}

void GlobalMemory::release_team(uint64_t offset) {
  const arch::Uncancelled whole;
  const std::lock_guard lock(mutex_);
  drop_area(*areas_->find(offset));
}

// The last area of small allocations stays: the next one is likely.
void GlobalMemory::give_back(uint64_t offset, std::size_t size) {
  Area* const area = areas_->find(offset);
  if (area->inside == nullptr) return drop_area(*area);
  area->inside->free(offset - area->begin + OffsetAllocator::kGranule, size);
  if (--area->used == 0 && areas_->small_areas() > 1) drop_area(*area);
}

}  // namespace ompl
