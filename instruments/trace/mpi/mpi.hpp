// SPDX-License-Identifier: BSD-3-Clause
// The MPI that this interposer is compiled for. Nothing of it is linked: a preloaded library meets programs that have
// no MPI, too.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <type_traits>

#include "writer/behind.hpp"

// Open MPI's constants are addresses of its data. A weak reference would stay null where MPI is loaded later, as Python
// does: they are looked up when they are used first.
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (static_cast<type>(OMPL_REAL_OF(void, global)))
#endif

namespace ompl::trace {

// Handles are numbers in one MPI and pointers in another.
template <typename Handle>
uint64_t key_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<uintptr_t>(handle);
  } else {
    return static_cast<uint32_t>(handle);
  }
}

}  // namespace ompl::trace
