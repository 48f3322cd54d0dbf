// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "solver/ranks/layer.hpp"

namespace ompl::solver {

// Memory at the same place of every rank, while it is needed. Collective; throws LayerError.
template <class T>
struct Place {
  explicit Place(std::size_t count) { check(ompl_alloc(count * sizeof(T), &offset), "ompl_alloc"); }
  [[nodiscard]] T* own() const { return static_cast<T*>(ompl_ptr(my_rank(), offset)); }
  // Collective, and so no destructor's business.
  void free() const { check(ompl_free(offset), "ompl_free"); }
  uint64_t offset = 0;
};

}  // namespace ompl::solver
