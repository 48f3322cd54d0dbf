// SPDX-License-Identifier: BSD-3-Clause
#include "coll/team/team_memory.hpp"

#include <algorithm>
#include <cstring>

#include "util/status.hpp"

namespace ompl::coll {

bool TeamMemory::find(bool staged) {
  for (;; layout.stride /= 2) {
    memory = allocator.allocate(layout.bytes());
    if (memory != 0 && staged) staging = allocator.allocate(layout.cell_bytes());
    if (staged && staging == 0) give_back();
    if (memory != 0 || layout.stride == kSmallestCell) return memory != 0;
  }
}

int TeamMemory::commit() {
  if (const int code = segment.commit_rest(memory, layout.bytes()); code != OMPL_OK) return code;
  return staging != 0 ? segment.commit_rest(staging, layout.cell_bytes()) : OMPL_OK;
}

int TeamMemory::take(bool staged) {
  if (!find(staged))
    return fail(OMPL_ERR_MEMORY, "no room for a team of {}; raise OMPL_COLL_MEMORY", layout.members);
  if (const int code = commit(); code != OMPL_OK) {
    give_back();
    return code;
  }
  const uint64_t end = memory + layout.bytes();
  if (memory < fresh) std::memset(segment.segment().base() + memory, 0, std::min(end, fresh) - memory);
  fresh = std::max({fresh, end, staging + (staging != 0 ? layout.cell_bytes() : 0)});
  return OMPL_OK;
}

void TeamMemory::give_back() {
  if (memory != 0) allocator.free(memory, layout.bytes());
  if (staging != 0) allocator.free(staging, layout.cell_bytes());
  memory = staging = 0;
}

void TeamMemory::shrink(uint32_t stride) {
  if (stride >= layout.stride) return;
  const uint64_t at = memory;
  const uint64_t staged_at = staging;
  give_back();
  layout.stride = stride;
  memory = allocator.allocate(layout.bytes(), at);
  if (staged_at != 0) staging = allocator.allocate(layout.cell_bytes(), staged_at);
}

}  // namespace ompl::coll
