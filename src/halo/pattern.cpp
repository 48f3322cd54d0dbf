// SPDX-License-Identifier: BSD-3-Clause
#include "halo/pattern.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace ompl::halo {
namespace {

// copy(place in the packed data, place in the vector, bytes) for each element; the common sizes are constants.
template <class Copy>
void for_each(const std::vector<uint32_t>& list, std::size_t size, Copy copy) {
  const auto all = [&](auto bytes) {
    std::size_t packed = 0;
    for (const uint32_t index : list) {
      copy(packed, index * static_cast<std::size_t>(bytes), bytes);
      packed += bytes;
    }
  };
  switch (size) {
    case 4:
      return all(std::integral_constant<std::size_t, 4>());
    case 8:
      return all(std::integral_constant<std::size_t, 8>());
    case 16:
      return all(std::integral_constant<std::size_t, 16>());
    default:
      return all(size);
  }
}

}  // namespace

Elements Elements::read(const uint32_t* list, std::size_t count, std::size_t first) {
  Elements elements{.count = count, .first = first, .list = {}};
  if (list == nullptr || count == 0) return elements;
  elements.first = list[0];
  std::size_t run = 1;
  while (run < count && list[run] == elements.first + run) ++run;
  if (run < count) elements.list.assign(list, list + count);
  return elements;
}

std::size_t Elements::end() const {
  if (count == 0) return 0;
  if (!consecutive()) return std::size_t{*std::ranges::max_element(list)} + 1;
  std::size_t end = 0;
  return __builtin_add_overflow(first, count, &end) ? SIZE_MAX : end;
}

void Elements::gather(std::byte* packed, const std::byte* vector, std::size_t size) const {
  if (consecutive()) {
    std::memcpy(packed, vector + first * size, count * size);
    return;
  }
  for_each(list, size, [=](std::size_t from_packed, std::size_t from_vector, auto bytes) {
    std::memcpy(packed + from_packed, vector + from_vector, bytes);
  });
}

void Elements::scatter(std::byte* vector, const std::byte* packed, std::size_t size) const {
  if (consecutive()) {
    std::memcpy(vector + first * size, packed, count * size);
    return;
  }
  for_each(list, size, [=](std::size_t from_packed, std::size_t from_vector, auto bytes) {
    std::memcpy(vector + from_vector, packed + from_packed, bytes);
  });
}

}  // namespace ompl::halo
