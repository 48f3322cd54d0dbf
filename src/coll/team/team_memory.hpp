// SPDX-License-Identifier: BSD-3-Clause
// Memory for a team, of the segment's part for collectives: committed when a team takes it.
#pragma once

#include <cstdint>

#include "coll/channel.hpp"
#include "core/memory/global_memory.hpp"

namespace ompl::coll {

struct TeamMemory {
  static constexpr uint32_t kSmallestCell = 256;

  // `not_used`: where memory of the allocator begins that no team has had so far; it is zero.
  TeamMemory(GlobalMemory& of_rank, OffsetAllocator& from, uint64_t& not_used, const TeamLayout& of)
      : segment(of_rank), allocator(from), fresh(not_used), layout(of) {}

  // Zero, with the largest cells, up to those of the layout, for which there is room. `staged`: also for cells of members that
  // are not mapped. OMPL_ERR_MEMORY: there is no room, or the node has no memory for it.
  int take(bool staged);
  void give_back();
  // Keeps as much as smaller cells need, at the same place.
  void shrink(uint32_t stride);

  GlobalMemory& segment;
  OffsetAllocator& allocator;
  uint64_t& fresh;
  TeamLayout layout;
  uint64_t memory = 0;   // 0: none
  uint64_t staging = 0;  // likewise

 private:
  bool find(bool staged);
  int commit();
};

}  // namespace ompl::coll
