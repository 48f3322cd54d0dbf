// SPDX-License-Identifier: BSD-3-Clause
// Memory of this image alone: allocatable components, staging. Small blocks share pieces; a large one has a piece to itself.
#include <mutex>

#include "core/state.hpp"

namespace caf {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
constexpr std::size_t kLarge = std::size_t{256} << 10;

std::mutex mutex;  // a request of another image may run in any thread
Space& space() {
  static Space* only = new Space;
  return *only;
}

bool grow() {
  uint64_t offset = 0;
  if (ompl_alloc_local(kPiece, &offset) != OMPL_OK) return false;
  space().add(as_number(ompl_ptr(state().me, offset)), kPiece);
  return true;
}

}  // namespace

int start_components(uint64_t* end) {
  uint64_t offset = 0;
  if (ompl_alloc_local(kPiece, &offset) != OMPL_OK) return kNoMemory;
  *end = offset + kPiece;  // local memory is taken from the top
  space().add(as_number(ompl_ptr(state().me, offset)), kPiece);
  return kOk;
}

void* allocate_component(std::size_t bytes) {
  if (bytes >= kLarge) {
    uint64_t offset = 0;
    return ompl_alloc_local(bytes, &offset) == OMPL_OK ? ompl_ptr(state().me, offset) : nullptr;
  }
  const std::lock_guard guard(mutex);
  uint64_t place = space().take(bytes);
  if (place == 0 && grow()) place = space().take(bytes);
  return reinterpret_cast<void*>(place);  // NOLINT(performance-no-int-to-ptr)
}

void release_component(void* memory) {
  if (memory == nullptr) return;
  {
    const std::lock_guard guard(mutex);
    if (space().give(as_number(memory))) return;
  }
  ompl_free_local(own_offset(memory));
}

bool in_own_segment(const void* address) {
  const State& now = state();
  return now.initial != nullptr && offset_in(now.me, as_number(address), 1) != 0;
}

}  // namespace caf
