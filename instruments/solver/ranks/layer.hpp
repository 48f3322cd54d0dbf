// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <omnipgas/ompl.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace ompl::solver {

// A call of the layer failed, with its name and why. What is collective can no longer be called: end the process.
class LayerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Returns what is not negative.
inline int check(int code, const char* call) {
  if (code >= 0) return code;
  const std::string detail = ompl_error_detail();
  throw LayerError(std::string(call) + ": " + ompl_strerror(code) +
                   (detail.empty() ? "" : ": " + detail));
}

[[nodiscard]] inline uint32_t my_rank() {
  return static_cast<uint32_t>(check(ompl_rank(), "ompl_rank"));
}
[[nodiscard]] inline uint32_t all_ranks() {
  return static_cast<uint32_t>(check(ompl_size(), "ompl_size"));
}

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
