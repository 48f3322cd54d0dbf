// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/ofi/local_memory.hpp"

#include <algorithm>

namespace ompl::conduit::ofi {
namespace {

bool lies_in(uintptr_t begin, std::size_t size, uintptr_t address, std::size_t length) {
  return address >= begin && length <= size && address - begin <= size - length;
}

}  // namespace

void RegisteredRanges::add(const void* address, std::size_t length) {
  const auto free_place = std::ranges::find_if(
      regions_, [](const Region& region) { return region.generation.load() == 0; });
  if (free_place == regions_.end()) return;
  free_place->begin.store(reinterpret_cast<uintptr_t>(address));
  free_place->length.store(length);
  free_place->generation.store(++generations_, std::memory_order_release);
}

void RegisteredRanges::remove(const void* address) {
  const auto place = std::ranges::find_if(regions_, [address](const Region& region) {
    return region.generation.load() != 0 && region.begin.load() == reinterpret_cast<uintptr_t>(address);
  });
  if (place == regions_.end()) return;
  place->generation.store(0, std::memory_order_release);
  removals_.fetch_add(1, std::memory_order_release);
}

// A region that changes meanwhile is not one of memory in use: its fields may be read torn, to no harm.
RegisteredRanges::Found RegisteredRanges::find(const void* address, std::size_t length) const {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (std::size_t place = 0; place < kCount; ++place) {
    const Region& region = regions_[place];
    const uint64_t generation = region.generation.load(std::memory_order_acquire);
    if (generation == 0) continue;
    const uintptr_t begin = region.begin.load(std::memory_order_relaxed);
    const std::size_t size = region.length.load(std::memory_order_relaxed);
    if (lies_in(begin, size, wanted, length) && has(place, generation))
      return {.place = place, .begin = begin, .length = size, .generation = generation};
  }
  return {};
}

int LocalMemory::open_bounce(void* memory, std::size_t length) {
  return choice_.registers ? resources_.register_memory(memory, length, FI_SEND | FI_WRITE, &slots_)
                           : 0;
}

int LocalMemory::open_receives(void* memory, std::size_t length) {
  return choice_.registers ? resources_.register_memory(memory, length, FI_RECV, &receives_) : 0;
}

void LocalMemory::forget_removed() {
  const uint64_t removals = regions_.removals();
  if (removals == removals_) return;
  removals_ = removals;
  for (std::size_t place = 0; place < cached_.size(); ++place) {
    if (!regions_.has(place, cached_[place].generation)) cached_[place] = {};
  }
}

bool LocalMemory::find(const void* address, std::size_t length, uint64_t access,
                       FabricOperation* operation, void** descriptor) {
  *descriptor = nullptr;
  if (!choice_.registers) return true;
  if (lies_in(reinterpret_cast<uintptr_t>(job_.segment), job_.capacity,
              reinterpret_cast<uintptr_t>(address), length)) {
    *descriptor = describe(resources_.segment);
    return true;
  }
  forget_removed();
  const RegisteredRanges::Found found = regions_.find(address, length);
  if (found.place < RegisteredRanges::kCount) {
    Cached& cached = cached_[found.place];
    if (cached.generation != found.generation) {
      cached = {};
      if (resources_.register_memory(reinterpret_cast<const void*>(found.begin), found.length,
                                     FI_READ | FI_WRITE, &cached.registration) != 0) {
        return false;
      }
      cached.generation = found.generation;
    }
    *descriptor = describe(cached.registration);
    return true;
  }
  if (resources_.register_memory(address, length, access, &operation->registration) != 0) return false;
  *descriptor = describe(operation->registration);
  return true;
}

}  // namespace ompl::conduit::ofi
