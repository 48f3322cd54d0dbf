// SPDX-License-Identifier: BSD-3-Clause
// Registered memory of this rank.
//
// Keys of allocations are published in a table of memory that every peer may read by RDMA: whoever first puts to an
// allocation reads its key there, and the target has nothing to do.
#pragma once

#include <cstdint>
#include <utility>

#include "conduit/common/regions.hpp"
#include "conduit/verbs/library.hpp"

namespace ompl::conduit::verbs {

// An entry of the published table.
struct PublishedKey {
  uint64_t begin = 0;  // offset of the allocation, so that a mistaken reader sees it
  uint32_t key = 0;
  uint32_t valid = 0;
};

class PinnedRegions : public conduit::RegionTable<Owned<ibv_mr>, 4096> {
 public:
  int add(uint64_t begin, uint64_t end, Owned<ibv_mr> memory) {
    const uint32_t key = memory->lkey;
    return conduit::RegionTable<Owned<ibv_mr>, 4096>::add(begin, end, std::move(memory), key);
  }
};

}  // namespace ompl::conduit::verbs
