// SPDX-License-Identifier: BSD-3-Clause
#include <shmemx.h>

#include "core/state.hpp"

using shmem_core::Region;
using shmem_core::state;

extern "C" {

uint64_t shmemx_offset(const void* address) { return shmem_core::offset_of(address); }

void* shmemx_address(uint64_t offset) {
  for (const Region& region : state().regions) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    if (offset - region.offset < region.length)
      return reinterpret_cast<void*>(region.begin + (offset - region.offset));
  }
  return ompl_ptr(static_cast<uint32_t>(state().pe), offset);
}

}  // extern "C"
