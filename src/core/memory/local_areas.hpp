// SPDX-License-Identifier: BSD-3-Clause
// Who owns which offsets of the upper end of one segment: areas, which this rank takes without the others. They grow
// downwards and begin and end at multiples of a granule that the conduits choose. Small allocations share areas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "core/memory/allocation.hpp"

namespace ompl {

// What an area is for, and so which function gives it back.
enum class AreaKind : uint8_t { small, local, team, adopted };

struct Area {
  uint64_t begin = 0;
  std::size_t length = 0;  // bytes that may be used
  AreaKind kind = AreaKind::local;
  uint32_t used = 0;                        // small allocations in it
  std::unique_ptr<OffsetAllocator> inside;  // of small allocations, else null
};

// One thread at a time. Throws std::bad_alloc, having changed nothing.
class LocalAreas {
 public:
  LocalAreas(std::size_t capacity, std::size_t granule);

  // Takes `length` bytes where they are free, from `floor` on, and beginning at `highest` or the next offset below. The area, or
  // nullptr if there is no room.
  Area* take(AreaKind kind, std::size_t length, uint64_t floor, uint64_t highest = UINT64_MAX);
  void give_back(const Area& area);

  // The area that contains an offset, or nullptr.
  Area* find(uint64_t offset);
  // A place for a small allocation in an area that is there; 0: none has room.
  uint64_t take_small(std::size_t size, Area** area);
  [[nodiscard]] std::size_t small_areas() const { return small_; }

  // The lowest offset of an area; the capacity if there is none.
  [[nodiscard]] uint64_t lowest() const { return areas_.empty() ? capacity_ : areas_.begin()->first; }
  [[nodiscard]] std::size_t granule() const { return granule_; }

 private:
  [[nodiscard]] uint64_t rounded(std::size_t length) const {
    return (length + granule_ - 1) / granule_ * granule_;
  }

  const uint64_t capacity_;
  const uint64_t granule_;
  const uint64_t top_;              // the last multiple of the granule
  OffsetAllocator order_;           // of granule_ + the distance from the top
  std::map<uint64_t, Area> areas_;  // by their begins
  std::size_t small_ = 0;
};

}  // namespace ompl
