// SPDX-License-Identifier: BSD-3-Clause
// What <shmem.h> compiles into programs.
#pragma once

#include <vector>

namespace shmem_core {

struct Inlined {
  const char* name;
  const void* own;  // the library's definition
};
const std::vector<Inlined>& inlined_functions();  // generated

// Tells programs where their symmetric memory lies, so that they go on without the library; unless SHMEM_DEBUG is set, which
// looks at every call, or another library stands before one of these functions. By one thread, once the layer is up.
void open_inlined();
// From now on every call is one of the library.
void close_inlined();

// Whether another library stands before the layer's waits, as a tracer does, and is to see those too that hold at once.
bool layer_is_watched();

}  // namespace shmem_core
