// SPDX-License-Identifier: BSD-3-Clause
// Transfers. Memory that is mapped here is copied; other segments go by the layer; what lies outside of the target's
// segment by a request. Fortran wants the effects of one image on one variable in the order of its statements, which
// the layer promises by fences alone.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "core/state.hpp"

namespace caf {
namespace {

// What is under way: 0, or the one rank and the one thread it goes to and comes from, or kMany.
constexpr uint64_t kMany = UINT64_MAX;
std::atomic<uint64_t> under_way{0};
std::atomic<bool> signalled{false};  // signals or atomics are among it, which a flush does not cover

uint64_t signature(uint32_t rank) {
  static std::atomic<uint32_t> threads{0};
  thread_local uint32_t thread = ++threads;
  return uint64_t{thread} << 32 | (rank + 1);
}

// Before more is sent to a rank, or read from it: what was sent is there first.
int in_order(uint32_t rank, bool reads) {
  if (under_way.load(std::memory_order_relaxed) == 0) return OMPL_OK;
  return reads ? ompl_ctx_flush_rank(OMPL_CTX_SHARED, rank, OMPL_FOREVER)
               : ompl_ctx_fence(OMPL_CTX_DEFAULT, rank, OMPL_FOREVER);
}

int outcome(int code, uint32_t rank) { return code == OMPL_OK ? kOk : layer_error(code, rank); }

// A row of elements of one size, which the compiler knows.
template <std::size_t kElement>
void copy_row(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
              std::ptrdiff_t from_stride, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, to += to_stride, from += from_stride)
    std::memcpy(to, from, kElement);
}

void copy_any_row(std::byte* to, std::ptrdiff_t to_stride, const std::byte* from,
                  std::ptrdiff_t from_stride, std::size_t count, std::size_t element) {
  switch (element) {
    case 1:
      return copy_row<1>(to, to_stride, from, from_stride, count);
    case 2:
      return copy_row<2>(to, to_stride, from, from_stride, count);
    case 4:
      return copy_row<4>(to, to_stride, from, from_stride, count);
    case 8:
      return copy_row<8>(to, to_stride, from, from_stride, count);
    case 16:
      return copy_row<16>(to, to_stride, from, from_stride, count);
    default:
      for (std::size_t i = 0; i < count; ++i, to += to_stride, from += from_stride)
        std::memcpy(to, from, element);
  }
}

void copy_dimension(std::byte* to, const Shape& to_shape, const std::byte* from,
                    const Shape& from_shape, int dimension, std::size_t element) {
  if (dimension < 0) {
    std::memcpy(to, from, element);
    return;
  }
  const std::size_t extent = to_shape.extent[dimension];
  const std::ptrdiff_t to_stride = to_shape.stride[dimension];
  const std::ptrdiff_t from_stride = from_shape.stride[dimension];
  const auto whole = static_cast<std::ptrdiff_t>(element);
  if (dimension == 0) {
    if (to_stride == whole && from_stride == whole) {
      std::memmove(to, from, extent * element);
    } else {
      copy_any_row(to, to_stride, from, from_stride, extent, element);
    }
    return;
  }
  for (std::size_t i = 0; i < extent; ++i) {
    copy_dimension(to, to_shape, from, from_shape, dimension - 1, element);
    to += to_stride;
    from += from_stride;
  }
}

// Joins dimensions over which both sides go on as within one, so that the rest is at most what the layer takes.
void join(Shape* one, Shape* other, std::size_t* element) {
  int kept = 0;
  for (int d = 0; d < one->dimensions; ++d) {
    const std::size_t extent = one->extent[d];
    if (extent == 1) continue;
    if (kept == 0 && one->stride[d] == static_cast<std::ptrdiff_t>(*element) &&
        other->stride[d] == one->stride[d]) {
      *element *= extent;
      continue;
    }
    if (kept > 0) {
      const auto below = static_cast<std::ptrdiff_t>(one->extent[kept - 1]);
      if (one->stride[d] == one->stride[kept - 1] * below &&
          other->stride[d] == other->stride[kept - 1] * below) {
        one->extent[kept - 1] *= extent;
        other->extent[kept - 1] = one->extent[kept - 1];
        continue;
      }
    }
    one->extent[kept] = other->extent[kept] = extent;
    one->stride[kept] = one->stride[d];
    other->stride[kept] = other->stride[d];
    ++kept;
  }
  one->dimensions = other->dimensions = kept;
}

// From the lowest byte of a section to its highest.
struct Reach {
  std::ptrdiff_t low;  // relative to the first element
  uint64_t begin;
  std::size_t bytes;
};

// The first element is at `address`.
Reach reach(const Shape& shape, std::size_t element, uint64_t address) {
  std::ptrdiff_t low = 0;
  auto high = static_cast<std::ptrdiff_t>(element);
  for (int d = 0; d < shape.dimensions; ++d) {
    const std::ptrdiff_t far = shape.stride[d] * static_cast<std::ptrdiff_t>(shape.extent[d] - 1);
    (far < 0 ? low : high) += far;
  }
  return {low, address + static_cast<uint64_t>(low), static_cast<std::size_t>(high - low)};
}

// For the layer: the outermost dimension first.
struct Block8 {
  std::size_t extents[OMPL_MAX_DIMENSIONS];
  std::ptrdiff_t local[OMPL_MAX_DIMENSIONS], remote[OMPL_MAX_DIMENSIONS];
  ompl_strided strided;

  Block8(const Shape& far, const Shape& here, std::size_t element) {
    for (int d = 0; d < far.dimensions; ++d) {
      const int place = far.dimensions - 1 - d;
      extents[place] = far.extent[d];
      local[place] = here.stride[d];
      remote[place] = far.stride[d];
    }
    strided = {element, far.dimensions, extents, local, remote};
  }
};

// Elements one by one, for what the layer's strided functions do not take.
template <class Each>
int each_element(const Shape& far, const Shape& here, uint64_t address, uint64_t local, int dimension,
                 Each each) {
  if (dimension < 0) return each(address, local);
  for (std::size_t i = 0; i < far.extent[dimension]; ++i) {
    if (const int code = each_element(far, here, address, local, dimension - 1, each); code != kOk)
      return code;
    address += static_cast<uint64_t>(far.stride[dimension]);
    local += static_cast<uint64_t>(here.stride[dimension]);
  }
  return kOk;
}

}  // namespace

int alive(uint32_t rank) {
  if (state().failures == 0 || !state().failed[rank]) return kOk;
  return layer_error(OMPL_ERR_PEER, rank);
}

std::size_t Shape::count() const {
  std::size_t all = 1;
  for (int d = 0; d < dimensions; ++d) all *= extent[d];
  return all;
}

Shape packed(const Shape& like, std::size_t element) {
  Shape made = like;
  std::size_t stride = element;
  for (int d = 0; d < like.dimensions; ++d) {
    made.stride[d] = static_cast<std::ptrdiff_t>(stride);
    stride *= like.extent[d];
  }
  return made;
}

void sent_to(uint32_t rank) {
  const uint64_t mine = signature(rank);
  uint64_t before = under_way.load(std::memory_order_relaxed);
  while (
      before != mine && before != kMany &&
      !under_way.compare_exchange_weak(before, before == 0 ? mine : kMany, std::memory_order_relaxed)) {
  }
}

void signalled_to(uint32_t rank) {
  if (rank == state().me || state().peers[rank].mapped != nullptr) return;
  sent_to(rank);
  signalled.store(true, std::memory_order_relaxed);
}

bool nothing_but_to(uint32_t rank) {
  const uint64_t now = under_way.load(std::memory_order_relaxed);
  return now == 0 || now == signature(rank);
}

int complete() {
  if (under_way.exchange(0, std::memory_order_relaxed) == 0) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return kOk;
  }
  const auto finish = signalled.exchange(false) ? &ompl_ctx_quiet_rank : &ompl_ctx_flush_rank;
  return outcome(finish(OMPL_CTX_SHARED, OMPL_ALL_RANKS, OMPL_FOREVER), state().me);
}

std::byte* direct(uint32_t rank, uint64_t address, std::size_t bytes) {
  if (rank == state().me)
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
  std::byte* const mapped = state().peers[rank].mapped;
  const uint64_t offset = mapped == nullptr ? 0 : offset_in(rank, address, bytes);
  return offset == 0 ? nullptr : mapped + offset;
}

void copy_block(std::byte* to, const Shape& to_shape, const std::byte* from, const Shape& from_shape,
                std::size_t element) {
  copy_dimension(to, to_shape, from, from_shape, to_shape.dimensions - 1, element);
}

int get(uint32_t rank, uint64_t address, void* local, std::size_t bytes) {
  if (bytes == 0) return kOk;
  if (const int code = alive(rank); code != kOk) return code;
  if (const std::byte* const there = direct(rank, address, bytes); there != nullptr) {
    std::memmove(local, there, bytes);
    return kOk;
  }
  if (const int code = in_order(rank, true); code != OMPL_OK) return layer_error(code, rank);
  const uint64_t offset = offset_in(rank, address, bytes);
  if (offset == 0) return far_get(rank, address, local, bytes);
  return outcome(ompl_get(as_number(local), rank, offset, bytes), rank);
}

int put(uint32_t rank, uint64_t address, const void* local, std::size_t bytes) {
  if (bytes == 0) return kOk;
  if (const int code = alive(rank); code != kOk) return code;
  if (std::byte* const there = direct(rank, address, bytes); there != nullptr) {
    std::memmove(there, local, bytes);
    return kOk;
  }
  if (const int code = in_order(rank, false); code != OMPL_OK) return layer_error(code, rank);
  const uint64_t offset = offset_in(rank, address, bytes);
  if (offset == 0) return far_put(rank, address, local, bytes);
  sent_to(rank);
  return outcome(ompl_put(as_number(local), rank, offset, bytes), rank);
}

int get_section(uint32_t rank, uint64_t address, const Shape& remote, std::size_t element, void* local,
                const Shape& here) {
  if (remote.count() == 0 || element == 0) return kOk;
  Shape far = remote;
  Shape near = here;
  join(&far, &near, &element);
  if (far.dimensions == 0) return get(rank, address, local, element);
  if (const int code = alive(rank); code != kOk) return code;
  const Reach all = reach(far, element, address);
  if (const std::byte* const there = direct(rank, all.begin, all.bytes); there != nullptr) {
    copy_block(static_cast<std::byte*>(local), near, there - all.low, far, element);
    return kOk;
  }
  if (far.dimensions > OMPL_MAX_DIMENSIONS || offset_in(rank, all.begin, all.bytes) == 0)
    return each_element(far, near, address, as_number(local), far.dimensions - 1,
                        [&](uint64_t from, uint64_t to) {
                          return get(rank, from, reinterpret_cast<void*>(to),
                                     element);  // NOLINT(performance-no-int-to-ptr)
                        });
  if (const int code = in_order(rank, true); code != OMPL_OK) return layer_error(code, rank);
  const Block8 block(far, near, element);
  return outcome(ompl_ctx_get_strided(OMPL_CTX_DEFAULT, as_number(local), rank,
                                      address - state().peers[rank].base, &block.strided, OMPL_FOREVER),
                 rank);
}

int put_section(uint32_t rank, uint64_t address, const Shape& remote, std::size_t element,
                const void* local, const Shape& here) {
  if (remote.count() == 0 || element == 0) return kOk;
  Shape far = remote;
  Shape near = here;
  join(&far, &near, &element);
  if (far.dimensions == 0) return put(rank, address, local, element);
  if (const int code = alive(rank); code != kOk) return code;
  const Reach all = reach(far, element, address);
  if (std::byte* const there = direct(rank, all.begin, all.bytes); there != nullptr) {
    copy_block(there - all.low, far, static_cast<const std::byte*>(local), near, element);
    return kOk;
  }
  if (far.dimensions > OMPL_MAX_DIMENSIONS || offset_in(rank, all.begin, all.bytes) == 0)
    return each_element(far, near, address, as_number(local), far.dimensions - 1,
                        [&](uint64_t to, uint64_t from) {
                          return put(rank, to, reinterpret_cast<const void*>(from),
                                     element);  // NOLINT(performance-no-int-to-ptr)
                        });
  if (const int code = in_order(rank, false); code != OMPL_OK) return layer_error(code, rank);
  sent_to(rank);
  const Block8 block(far, near, element);
  return outcome(
      ompl_ctx_put_strided(OMPL_CTX_DEFAULT, as_number(local), rank, address - state().peers[rank].base,
                           &block.strided, nullptr, OMPL_FOREVER),
      rank);
}

// A list in runs of elements that follow each other.
template <class Run>
int each_run(const std::vector<uint64_t>& addresses, std::size_t element, Run run) {
  for (std::size_t first = 0; first < addresses.size();) {
    std::size_t last = first + 1;
    while (last < addresses.size() && addresses[last] == addresses[last - 1] + element) ++last;
    if (const int code = run(addresses[first], first * element, (last - first) * element); code != kOk)
      return code;
    first = last;
  }
  return kOk;
}

// A list for one call of the layer, which packs it: elements in the segment of a rank that is not mapped here, mostly apart.
struct List {
  uint64_t first = 0;  // offset of the lowest element
  std::vector<uint64_t> places;

  bool take(uint32_t rank, const std::vector<uint64_t>& addresses, std::size_t element) {
    constexpr std::size_t kMostOfARun = 4;  // elements: longer runs are sent one by one
    const State& now = state();
    if (addresses.size() < 2 || rank == now.me || now.peers[rank].mapped != nullptr) return false;
    const uint64_t lowest = *std::ranges::min_element(addresses);
    std::size_t runs = 1;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (offset_in(rank, addresses[i], element) == 0) return false;
      if (i > 0 && addresses[i] != addresses[i - 1] + element) ++runs;
      places.push_back(addresses[i] - lowest);
    }
    first = lowest - now.peers[rank].base;
    return runs * kMostOfARun >= addresses.size();
  }
  [[nodiscard]] ompl_indexed indexed(std::size_t element) const {
    return {element, places.size(), nullptr, places.data()};
  }
};

int get_list(uint32_t rank, const std::vector<uint64_t>& addresses, std::size_t element, void* buffer) {
  if (List list; list.take(rank, addresses, element)) {
    if (const int code = alive(rank); code != kOk) return code;
    if (const int code = in_order(rank, true); code != OMPL_OK) return layer_error(code, rank);
    const ompl_indexed indexed = list.indexed(element);
    return outcome(ompl_ctx_get_indexed(OMPL_CTX_DEFAULT, as_number(buffer), rank, list.first, &indexed,
                                        OMPL_FOREVER),
                   rank);
  }
  auto* const local = static_cast<std::byte*>(buffer);
  return each_run(addresses, element, [&](uint64_t from, std::size_t place, std::size_t bytes) {
    return get(rank, from, local + place, bytes);
  });
}

int put_list(uint32_t rank, const std::vector<uint64_t>& addresses, std::size_t element,
             const void* buffer) {
  if (List list; list.take(rank, addresses, element)) {
    if (const int code = alive(rank); code != kOk) return code;
    if (const int code = in_order(rank, false); code != OMPL_OK) return layer_error(code, rank);
    sent_to(rank);
    const ompl_indexed indexed = list.indexed(element);
    return outcome(ompl_ctx_put_indexed(OMPL_CTX_DEFAULT, as_number(buffer), rank, list.first, &indexed,
                                        nullptr, OMPL_FOREVER),
                   rank);
  }
  const auto* const local = static_cast<const std::byte*>(buffer);
  return each_run(addresses, element, [&](uint64_t to, std::size_t place, std::size_t bytes) {
    return put(rank, to, local + place, bytes);
  });
}

}  // namespace caf
