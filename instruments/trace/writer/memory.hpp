// SPDX-License-Identifier: BSD-3-Clause
// Zeroed memory from the system: large tables cost only the pages they use, and no allocator is asked inside MPI.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace ompl::trace {

template <typename T>
T* map_zeroed(std::size_t count) {
  void* const at = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<T*>(at);
}

template <typename T>
void unmap(T* at, std::size_t count) {
  if (at != nullptr) munmap(at, count * sizeof(T));
}

}  // namespace ompl::trace
