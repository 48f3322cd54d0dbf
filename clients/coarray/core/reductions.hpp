// SPDX-License-Identifier: BSD-3-Clause
// Sums, minima and maxima of Fortran's numbers, by the bytes of their kind.
#pragma once

#include <cstddef>
#include <cstring>

#include "core/core.hpp"

namespace caf {

__extension__ using Quad = __float128;
__extension__ using Whole = __int128;

enum class Kind { sum, least, most };

// Combines elements, which need not be aligned, one by one.
template <class T, class Combine>
int each(const void* in, void* inout, std::size_t count, Combine combine) {
  const auto* const from = static_cast<const std::byte*>(in);
  auto* const to = static_cast<std::byte*>(inout);
  for (std::size_t i = 0; i < count; ++i) {
    T one;
    T other;
    std::memcpy(&one, from + i * sizeof(T), sizeof(T));
    std::memcpy(&other, to + i * sizeof(T), sizeof(T));
    const T result = combine(one, other);
    std::memcpy(to + i * sizeof(T), &result, sizeof(T));
  }
  return 0;
}

int integer_operation(std::size_t bytes, Kind kind, Operation* made);
int real_operation(std::size_t bytes, Kind kind, Operation* made);
int complex_operation(std::size_t bytes, Operation* made);  // the sum

}  // namespace caf
