// SPDX-License-Identifier: BSD-3-Clause
#include "core/memory/local_areas.hpp"

#include <algorithm>
#include <iterator>
#include <new>

namespace ompl {

LocalAreas::LocalAreas(std::size_t capacity, std::size_t granule)
    : capacity_(capacity),
      granule_(granule),
      top_(capacity / granule * granule),
      order_(granule, top_ + granule) {}

Area* LocalAreas::take(AreaKind kind, std::size_t length, uint64_t floor, uint64_t highest) {
  if (length == 0 || length > capacity_) return nullptr;
  const uint64_t size = rounded(length);
  if (size > top_) return nullptr;
  const uint64_t first = std::min(top_ - size, highest / granule_ * granule_);
  const uint64_t place = order_.allocate(size, granule_ + (top_ - size - first));
  if (place == 0) return nullptr;
  const uint64_t begin = top_ + granule_ - place - size;
  try {
    if (begin >= floor) {
      Area area{.begin = begin, .length = length, .kind = kind, .used = 0, .inside = nullptr};
      // Offset 0 stands for no room, so that the area's offsets are counted from a granule on.
      if (kind == AreaKind::small)
        area.inside = std::make_unique<OffsetAllocator>(OffsetAllocator::kGranule,
                                                        OffsetAllocator::kGranule + length);
      Area* const taken = &areas_.emplace(begin, std::move(area)).first->second;
      if (kind == AreaKind::small) ++small_;
      return taken;
    }
  } catch (const std::bad_alloc&) {
    order_.free(place, size);
    throw;
  }
  order_.free(place, size);
  return nullptr;
}

void LocalAreas::give_back(const Area& area) {
  const uint64_t begin = area.begin;
  const uint64_t size = rounded(area.length);
  if (area.kind == AreaKind::small) --small_;
  areas_.erase(begin);
  order_.free(top_ + granule_ - begin - size, size);
}

Area* LocalAreas::find(uint64_t offset) {
  auto area = areas_.upper_bound(offset);
  if (area == areas_.begin()) return nullptr;
  area = std::prev(area);
  return offset - area->first < area->second.length ? &area->second : nullptr;
}

uint64_t LocalAreas::take_small(std::size_t size, Area** area) {
  for (auto& [begin, candidate] : areas_) {
    if (candidate.inside == nullptr) continue;
    const uint64_t place = candidate.inside->allocate(size);
    if (place == 0) continue;
    ++candidate.used;
    *area = &candidate;
    return begin + place - OffsetAllocator::kGranule;
  }
  return 0;
}

}  // namespace ompl
