// SPDX-License-Identifier: BSD-3-Clause
// Allocation in the symmetric heap. All calls are collective; the lists of all PEs are the same.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/checks.hpp"
#include "core/heap.hpp"

namespace shmem_core {
namespace {

constexpr std::size_t kSmallestPiece = std::size_t{1} << 20;
constexpr std::size_t kMostAlignment = std::size_t{256} << 20;  // of the segment itself
constexpr std::size_t kLargestStep = std::size_t{256}
                                     << 20;  // what the heap grows by, if not more is asked for

Heap& heap() {
  static Heap* const only = new Heap;
  return *only;
}
std::size_t heap_limit = 0;
std::mutex heap_mutex;  // of the heap: all PEs change it together, but other threads look at it

// A new piece with room for `size`: about as much as there is already, so that there are few, or just enough.
bool grow(std::size_t size, std::size_t alignment) {
  const std::size_t needed = size + (alignment > 256 ? alignment : 0);  // the layer aligns to 256
  const std::size_t generous = std::clamp(heap().total(), kSmallestPiece,
                                          std::min(kLargestStep, std::max(heap_limit, kSmallestPiece)));
  uint64_t offset = 0;
  for (const std::size_t length : {std::max(needed, generous), needed}) {
    const std::size_t whole = (length + 4095) / 4096 * 4096;
    if (ompl_alloc(whole, &offset) != OMPL_OK) continue;
    heap().add(offset, whole);
    std::atomic<uint64_t>& span = state().span;
    span = std::max<uint64_t>(span, offset + whole);
    return true;
  }
  return false;
}

// 0: there is no room.
uint64_t take(std::size_t size, std::size_t alignment) {
  const std::lock_guard lock(heap_mutex);
  if (size > heap_limit || heap().used() > heap_limit - size) return 0;
  if (const uint64_t offset = heap().take(size, alignment); offset != 0) return offset;
  return grow(size, alignment) ? heap().take(size, alignment) : 0;
}

int give(uint64_t offset) {
  uint64_t piece = 0;
  {
    const std::lock_guard lock(heap_mutex);
    piece = heap().give(offset);
    // The first one stays, for programs that allocate and free in a loop.
    if (piece == 0 || piece == heap().pieces().begin()->first) return OMPL_OK;
    heap().remove(piece);
  }
  return ompl_free(piece);
}

// With SHMEM_DEBUG: all PEs call the same with the same arguments.
int agree(const char* function, uint64_t first, uint64_t second) {
  return check_all(*state().world, {.name = function, .numbers = {first, second}});
}

int known_block(const void* block, uint64_t* offset) {
  *offset = offset_of(block);
  if (*offset != 0 && heap().length(*offset) != 0) return OMPL_OK;
  return refuse(OMPL_ERR_ARG, "%p is no block of the symmetric heap, or was freed", block);
}

}  // namespace

void set_heap_limit(std::size_t bytes) { heap_limit = std::max(bytes, Heap::kUnit); }

int allocate(std::size_t size, std::size_t alignment, void** result) {
  *result = nullptr;
  if (size == 0) return OMPL_OK;
  if (alignment > kMostAlignment) return barrier_all();
  if (!std::has_single_bit(alignment))
    return refuse(OMPL_ERR_ARG, "the alignment %zu is no power of two", alignment);
  if (const int code = agree("shmem_malloc", size, alignment); code != OMPL_OK) return code;
  if (const uint64_t offset = take(size, std::max(alignment, Heap::kUnit)); offset != 0)
    *result = own_memory(offset);
  return barrier_all();
}

int allocate_zero(std::size_t count, std::size_t size, void** result) {
  *result = nullptr;
  if (size != 0 && count > std::numeric_limits<std::size_t>::max() / size) return OMPL_OK;
  const std::size_t whole = count * size;
  if (whole == 0) return OMPL_OK;
  if (const int code = agree("shmem_calloc", whole, kAnyAlignment); code != OMPL_OK) return code;
  if (const uint64_t offset = take(whole, kAnyAlignment); offset != 0) {
    *result = own_memory(offset);
    std::memset(*result, 0, whole);
  }
  return barrier_all();
}

int reallocate(void* block, std::size_t size, void** result) {
  if (block == nullptr) return allocate(size, kAnyAlignment, result);
  *result = nullptr;
  if (size == 0) return release(block);
  uint64_t offset = 0;
  if (const int code = known_block(block, &offset); code != OMPL_OK) return code;
  if (const int code = agree("shmem_realloc", offset, size); code != OMPL_OK) return code;
  if (const int code = barrier_all(); code != OMPL_OK) return code;
  const std::size_t before = heap().length(offset);
  if (size <= before) {
    {
      const std::lock_guard lock(heap_mutex);
      heap().shrink(offset, size);
    }
    *result = block;
    return barrier_all();
  }
  const uint64_t moved = take(size, kAnyAlignment);
  if (moved != 0) {
    *result = own_memory(moved);
    std::memcpy(*result, block, before);
    if (const int code = give(offset); code != OMPL_OK) return code;
  }
  return barrier_all();
}

int release(void* block) {
  if (block == nullptr) return OMPL_OK;
  uint64_t offset = 0;
  if (const int code = known_block(block, &offset); code != OMPL_OK) return code;
  if (const int code = agree("shmem_free", offset, 0); code != OMPL_OK) return code;
  if (const int code = barrier_all(); code != OMPL_OK) return code;
  return give(offset);
}

std::string heap_misuse(uint64_t offset, std::size_t length) {
  for (const Region& region : state().regions)
    if (offset - region.offset < region.length) return "";
  const std::lock_guard lock(heap_mutex);
  const auto [begin, size] = heap().block_at(offset);
  if (size == 0) return "it is in no block of shmem_malloc(): it was freed, or never allocated";
  if (length <= begin + size - offset) return "";
  return "that leaves its block, which has " + std::to_string(begin + size - offset) +
         " bytes from there on";
}

int end_heap() {
  while (!heap().pieces().empty()) {
    const uint64_t piece = heap().pieces().begin()->first;
    heap().remove(piece);
    if (const int code = ompl_free(piece); code != OMPL_OK) return code;
  }
  heap() = Heap{};
  return OMPL_OK;
}

}  // namespace shmem_core
