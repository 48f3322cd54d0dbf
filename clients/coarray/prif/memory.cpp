// SPDX-License-Identifier: BSD-3-Clause
// Caffeine divides its heaps itself: image 1 of a team allocates for all from the team's part of the symmetric heap, and tells the
// others the offset. Both heaps are one coarray of the core, so an address is turned into that of another image by the offset.
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>

#include "core/space.hpp"
#include "prif/prif.hpp"

namespace prif {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kDefaultHeap = 128 * kMiB;
constexpr double kDefaultShare = 0.1;  // of the heap of one image alone

struct Heap {
  std::mutex mutex;  // DO CONCURRENT may allocate in several threads
  caf::Space space;
};

caf::Coarray* everything = nullptr;
Heap* own_heap = nullptr;

Heap* make_heap(uint64_t start, std::size_t bytes) {
  auto* const heap = new Heap;
  heap->space.add(start, bytes / caf::Space::kUnit * caf::Space::kUnit);
  return heap;
}

void* take(Heap& heap, std::size_t bytes) {
  const std::lock_guard guard(heap.mutex);
  return reinterpret_cast<void*>(heap.space.take(bytes));  // NOLINT(performance-no-int-to-ptr)
}

void give(Heap& heap, void* memory) {
  const std::lock_guard guard(heap.mutex);
  heap.space.give(address_of(memory));
}

[[noreturn]] void wrong(const char* variable, const char* text, const char* wanted) {
  caf::error_stop(1, std::string("prif: ") + variable + "=" + text + ": give " + wanted);
  std::abort();
}

// A number of MiB, or of what the letter behind it says.
std::size_t heap_bytes() {
  const char* const text = std::getenv("CAF_HEAP_SIZE");
  if (text == nullptr) return kDefaultHeap;
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  const std::string letters = "KMGT";
  const std::size_t place =
      *end == '\0' ? 1
                   : letters.find(static_cast<char>(std::toupper(static_cast<unsigned char>(*end))));
  if (number <= 0 || place == std::string::npos)
    wrong("CAF_HEAP_SIZE", text, "a number of MiB, or one with the unit K, M, G or T");
  const double bytes = number * static_cast<double>(std::size_t{1024} << (10 * place));
  return std::max(static_cast<std::size_t>(bytes), 2 * kPage) / kPage * kPage;
}

double own_share() {
  const char* const text = std::getenv("CAF_COMP_FRAC");
  if (text == nullptr) return kDefaultShare;
  char* end = nullptr;
  double share = std::strtod(text, &end);
  if (*end == '/') share /= std::strtod(end + 1, &end);
  if (*end != '\0' || !(share > 0 && share < 1))
    wrong("CAF_COMP_FRAC", text, "a number between 0 and 1");
  return share;
}

}  // namespace

void* start_heaps(intptr_t* all, intptr_t* symmetric_start, intptr_t* symmetric_size) {
  const std::size_t bytes = heap_bytes();
  const auto wanted = static_cast<std::size_t>(static_cast<double>(bytes) * own_share());
  const std::size_t own = std::clamp(wanted / kPage * kPage, kPage, bytes - kPage);
  must(caf::allocate(bytes, caf::Fill::none, &everything), "the heap (CAF_HEAP_SIZE)");
  const uint64_t start = address_of(caf::own_memory(everything));
  *all = static_cast<intptr_t>(bytes);
  *symmetric_start = static_cast<intptr_t>(start);
  *symmetric_size = static_cast<intptr_t>(bytes - own);
  own_heap = make_heap(start + bytes - own, own);
  return caf::this_image() == 1 ? make_heap(start, bytes - own) : nullptr;
}

}  // namespace prif

using namespace prif;

PRIF_API void* caf_allocate(void* heap, std::size_t bytes) {
  return take(*static_cast<Heap*>(heap), bytes);
}
PRIF_API void* caf_allocate_non_symmetric(std::size_t bytes) { return take(*own_heap, bytes); }
PRIF_API void caf_deallocate(void* heap, void* memory) { give(*static_cast<Heap*>(heap), memory); }
PRIF_API void caf_deallocate_non_symmetric(void* memory) { give(*own_heap, memory); }

// Most of the largest free part, for the teams that a team forms; the rest is for what the team itself allocates meanwhile.
PRIF_API void caf_allocate_remaining(void* heap, void** memory, std::size_t* bytes) {
  const std::size_t largest = static_cast<Heap*>(heap)->space.largest();
  *bytes = (largest - largest / 10) / caf::Space::kUnit * caf::Space::kUnit;
  *memory = *bytes == 0 ? nullptr : caf_allocate(heap, *bytes);
  if (*memory == nullptr)
    must(caf::refuse(caf::kNoMemory, "no memory is left for it"), "the heap of a team");
}

PRIF_API void caf_establish_mspace(void** heap, void* start, std::size_t bytes) {
  *heap = make_heap(address_of(start), bytes);
}

PRIF_API intptr_t caf_convert_base_addr(void* address, int image) {
  uint64_t there = 0;
  const int code = caf::address_on(everything, rank_of(image), &there);
  note(code, "the place of a coarray on another image");
  if (code != caf::kOk) return 0;
  return static_cast<intptr_t>(there + (address_of(address) - address_of(caf::own_memory(everything))));
}

PRIF_API void caf_put(int image, intptr_t to, const void* from, std::size_t bytes) {
  note(caf::put(rank_of(image), static_cast<uint64_t>(to), from, bytes), "put");
}

PRIF_API void caf_get(int image, void* to, intptr_t from, std::size_t bytes) {
  note(caf::get(rank_of(image), static_cast<uint64_t>(from), to, bytes), "get");
}

namespace {

caf::Shape shape_of(int dimensions, const std::ptrdiff_t* strides, const std::size_t* extents) {
  caf::Shape shape;
  if (dimensions > caf::kMostRank)
    must(caf::refuse(caf::kWrong, "%d dimensions", dimensions), "a strided transfer");
  shape.dimensions = std::clamp(dimensions, 0, caf::kMostRank);
  for (int d = 0; d < shape.dimensions; ++d) {
    shape.stride[d] = strides[d];
    shape.extent[d] = extents[d];
  }
  return shape;
}

}  // namespace

PRIF_API void caf_put_strided(int dimensions, int image, intptr_t to, const std::ptrdiff_t* to_strides,
                              const void* from, const std::ptrdiff_t* from_strides, std::size_t element,
                              const std::size_t* extents) {
  note(caf::put_section(rank_of(image), static_cast<uint64_t>(to),
                        shape_of(dimensions, to_strides, extents), element, from,
                        shape_of(dimensions, from_strides, extents)),
       "strided put");
}

PRIF_API void caf_get_strided(int dimensions, int image, intptr_t from,
                              const std::ptrdiff_t* from_strides, void* to,
                              const std::ptrdiff_t* to_strides, std::size_t element,
                              const std::size_t* extents) {
  note(caf::get_section(rank_of(image), static_cast<uint64_t>(from),
                        shape_of(dimensions, from_strides, extents), element, to,
                        shape_of(dimensions, to_strides, extents)),
       "strided get");
}
