// SPDX-License-Identifier: BSD-3-Clause
// Vectors that are as long as a matrix has rows or entries.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <vector>

namespace ompl::solver {

// Asks for huge pages before the memory is touched: fewer faults while it is filled, fewer misses when it is read.
// Where the kernel has none for it, nothing changes.
template <class T>
void reserve_large(std::vector<T>& vector, std::size_t size) {
  constexpr uintptr_t kPage = uintptr_t{2} << 20;
  vector.reserve(size);
  const auto begin = reinterpret_cast<uintptr_t>(vector.data());
  const uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const uintptr_t last = (begin + size * sizeof(T)) / kPage * kPage;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

template <class T>
[[nodiscard]] std::vector<T> large_vector(std::size_t size) {
  std::vector<T> out;
  reserve_large(out, size);
  out.resize(size);
  return out;
}

}  // namespace ompl::solver
