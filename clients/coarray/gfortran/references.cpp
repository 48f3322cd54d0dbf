// SPDX-License-Identifier: BSD-3-Clause
#include "gfortran/references.hpp"

#include <cstring>

namespace gfortran {
namespace {

constexpr int kAllocateService = 0;

// What one part of a reference is applied to.
struct Position {
  Found* found;
  const Descriptor* bounds = nullptr;  // of the array that the next part indexes
  Descriptor there{};                  // as read from the other image
  bool last_was_indirect = false;
};

int read(uint32_t rank, uint64_t address, void* into, std::size_t bytes) {
  return caf::get(rank, address, into, bytes);
}

std::ptrdiff_t subscript(const void* vector, int kind, std::size_t place) {
  switch (kind) {
    case 1:
      return static_cast<const int8_t*>(vector)[place];
    case 2:
      return static_cast<const int16_t*>(vector)[place];
    case 4:
      return static_cast<const int32_t*>(vector)[place];
    default:
      return static_cast<const int64_t*>(vector)[place];
  }
}

int rank_of(const Reference& part) {
  int rank = 0;
  while (rank < caf::kMostRank && part.u.a.mode[rank] != kNone) ++rank;
  return rank;
}

int not_allocated() {
  return caf::refuse(caf::kWrong, "a component of the coindexed object is not allocated on that image");
}

// The values of start, start + stride ... up to end.
void count_up(std::ptrdiff_t start, std::ptrdiff_t end, std::ptrdiff_t stride,
              std::vector<std::ptrdiff_t>* values) {
  if (stride == 0) stride = 1;
  for (std::ptrdiff_t i = start; stride > 0 ? i <= end : i >= end; i += stride) values->push_back(i);
}

// The indices of one dimension, from 0, and whether it stays one.
bool indices(const Reference& part, int d, const Dimension* bounds,
             std::vector<std::ptrdiff_t>* values) {
  const auto& given = part.u.a.dim[d];
  const std::ptrdiff_t lower = bounds == nullptr ? 0 : bounds->lower;
  const std::ptrdiff_t upper = bounds == nullptr ? given.s.end : bounds->upper;
  const auto mode = part.u.a.mode[d];
  if (mode == kVector) {
    for (std::size_t i = 0; i < given.v.count; ++i)
      values->push_back(subscript(given.v.vector, given.v.kind, i) - lower);
    return true;
  }
  if (mode == kSingle) {
    values->push_back(given.s.start - lower);
    return false;
  }
  const bool from_start = mode == kFull || mode == kOpenStart;
  const bool to_end = mode == kFull || mode == kOpenEnd;
  const std::ptrdiff_t first = from_start ? lower : given.s.start;
  const std::ptrdiff_t last = to_end ? upper : given.s.end;
  count_up(first, last, given.s.stride, values);
  for (std::ptrdiff_t& value : *values) value -= lower;
  return true;
}

// Every element so far becomes the elements of an array at its place.
void index(Position* at, const Reference& part, const Descriptor* bounds, std::ptrdiff_t unit) {
  Found& found = *at->found;
  found.whole = true;
  for (int d = rank_of(part) - 1; d >= 0; --d) {
    std::vector<std::ptrdiff_t> values;
    const bool stays = indices(part, d, bounds == nullptr ? nullptr : &bounds->dim[d], &values);
    found.whole = found.whole && part.u.a.mode[d] == kFull && part.u.a.dim[d].s.stride == 1;
    const std::ptrdiff_t stride = (bounds == nullptr ? 1 : bounds->dim[d].stride) * unit;
    std::vector<uint64_t> more;
    more.reserve(found.elements.size() * values.size());
    for (const uint64_t outer : found.elements) {
      for (const std::ptrdiff_t value : values)
        more.push_back(outer + static_cast<uint64_t>(value * stride));
    }
    found.elements = std::move(more);
    if (stays) found.extents.insert(found.extents.begin(), values.size());
  }
}

// Reads where an allocatable or pointer component is, and its bounds if it is an array.
int follow(Position* at, const Reference& part) {
  Found& found = *at->found;
  const bool array = part.next != nullptr && part.next->type == kArray;
  found.is_array = array;
  found.whole = !array;
  for (std::size_t i = 0; i < found.elements.size(); ++i) {
    const uint64_t place = found.elements[i] + static_cast<uint64_t>(part.u.c.offset);
    found.token_at = found.elements[i] + static_cast<uint64_t>(part.u.c.token_offset);
    found.component_at = place;
    const std::size_t bytes = array ? descriptor_bytes(rank_of(*part.next)) : sizeof(void*);
    if (const int code = read(found.rank, place, &at->there, bytes); code != caf::kOk) return code;
    found.elements[i] = reinterpret_cast<uintptr_t>(at->there.base);
    found.allocated = found.elements[i] != 0;
    if (!found.allocated) return caf::kOk;
  }
  at->bounds = array ? &at->there : nullptr;
  return caf::kOk;
}

// The bytes of a string of deferred length are what its token says was allocated.
int measure(Found* found) {
  uint64_t token = 0;
  ComponentToken what{};
  if (const int code = read(found->rank, found->token_at, &token, sizeof token); code != caf::kOk)
    return code;
  if (token == 0) return not_allocated();
  if (const int code = read(found->rank, token, &what, sizeof what); code != caf::kOk) return code;
  if (what.magic != kComponentMagic) return not_allocated();
  found->item = what.bytes;
  return caf::kOk;
}

int apply(Position* at, const Reference& part) {
  Found& found = *at->found;
  if (part.type == kComponent) {
    at->bounds = nullptr;
    if (part.u.c.token_offset > 0) return follow(at, part);
    for (uint64_t& element : found.elements) element += static_cast<uint64_t>(part.u.c.offset);
    return caf::kOk;
  }
  if (part.type == kStaticArray) {
    index(at, part, nullptr, static_cast<std::ptrdiff_t>(part.item_size));
    return caf::kOk;
  }
  if (at->bounds == nullptr) return caf::refuse(caf::kWrong, "the bounds of the array are not known");
  const std::ptrdiff_t unit =
      at->bounds->span != 0 ? at->bounds->span : static_cast<std::ptrdiff_t>(part.item_size);
  index(at, part, at->bounds, unit);
  at->bounds = nullptr;
  return caf::kOk;
}

struct Allocation {
  uint64_t token_at, component_at, item;
  int32_t rank, type;
  uint64_t extent[caf::kMostRank];
};

// Runs at the image that has the component.
uint64_t allocate_here(const caf::Asked& asked) {
  Allocation what;
  std::memcpy(&what, asked.arguments, sizeof what);
  std::size_t bytes = what.item;
  for (int d = 0; d < what.rank; ++d) bytes *= what.extent[d];
  auto** const token = reinterpret_cast<void**>(what.token_at);  // NOLINT(performance-no-int-to-ptr)
  auto* const place =
      reinterpret_cast<Descriptor*>(what.component_at);  // NOLINT(performance-no-int-to-ptr)
  void* const before = place->base;
  void* const memory = renew_component(token, bytes);
  if (memory == nullptr) return caf::kNoMemory;
  if (what.rank >= 0) {
    place->elem_len = what.item;
    place->version = 0;
    place->rank = static_cast<int8_t>(what.rank);
    place->type = static_cast<int8_t>(what.type);
    place->span = static_cast<std::ptrdiff_t>(what.item);
    std::ptrdiff_t stride = 1;
    std::ptrdiff_t offset = 0;
    for (int d = 0; d < what.rank; ++d) {
      const auto extent = static_cast<std::ptrdiff_t>(what.extent[d]);
      place->dim[d] = {stride, 1, extent};
      offset -= stride;
      stride *= extent;
    }
    place->offset = static_cast<std::size_t>(offset);
  }
  place->base = memory;
  if (before != nullptr && caf::in_own_segment(before)) caf::release_component(before);
  return caf::kOk;
}

// Known to the core before it begins.
const bool kOffered = [] {
  caf::offer(kAllocateService, &allocate_here);
  return true;
}();

}  // namespace

int find(const void* token, int image, const Reference* reference, Found* found) {
  (void)kOffered;
  *found = Found{};
  uint64_t address = 0;
  if (const int code = locate(token, image, &found->rank, &address); code != caf::kOk) return code;
  found->elements = {address};
  Position at{found};
  at.bounds = static_cast<const Token*>(token)->descriptor;
  for (const Reference* part = reference; part != nullptr; part = part->next) {
    if (const int code = apply(&at, *part); code != caf::kOk) return code;
    found->item = part->item_size;
    if (found->allocated) continue;
    const bool last =
        part->next == nullptr || (part->next->type == kArray && part->next->next == nullptr);
    if (!last) return not_allocated();
    found->elements.clear();
    found->extents.clear();
    found->whole = true;
    if (part->next != nullptr) found->item = part->next->item_size;
    return caf::kOk;
  }
  return found->item == 0 && found->token_at != 0 ? measure(found) : caf::kOk;
}

int allocate_there(const Found& found, const std::vector<std::size_t>& extents, std::size_t item,
                   int type) {
  Allocation what{found.token_at, found.component_at, item, found.is_array ? 0 : -1, type, {}};
  if (found.is_array) {
    for (const std::size_t extent : extents) what.extent[what.rank++] = extent;
  }
  uint64_t reply = 0;
  if (const int code = caf::ask(found.rank, kAllocateService, &what, sizeof what, &reply);
      code != caf::kOk)
    return code;
  if (reply != caf::kOk)
    return caf::refuse(caf::kNoMemory, "no memory for the component on that image");
  return caf::kOk;
}

}  // namespace gfortran
