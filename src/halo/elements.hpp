// SPDX-License-Identifier: BSD-3-Clause
// Which elements of a vector: a list of numbers, or consecutive ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ompl::halo {

struct Elements {
  std::size_t count = 0;
  std::size_t first = 0;
  std::vector<uint32_t> list;  // empty: first, first + 1, ...

  // Consecutive numbers are found out and not kept as a list.
  static Elements read(const uint32_t* list, std::size_t count, std::size_t first);

  [[nodiscard]] bool consecutive() const { return list.empty(); }
  // One more than the largest number; SIZE_MAX if it does not fit.
  [[nodiscard]] std::size_t end() const;

  // Copies the elements of a vector, `size` bytes each, one behind the other to `packed`, and back.
  void gather(std::byte* packed, const std::byte* vector, std::size_t size) const;
  void scatter(std::byte* vector, const std::byte* packed, std::size_t size) const;
};

}  // namespace ompl::halo
