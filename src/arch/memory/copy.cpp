// SPDX-License-Identifier: BSD-3-Clause
#include "arch/memory/copy.hpp"

namespace ompl::arch {

// The C library's memcpy is chosen at load time for this processor and was the best or equal to the
// best at every size measured (docs/performance/memory.md, "Copy routine").
void copy_long(void* to, const void* from, std::size_t length) { std::memcpy(to, from, length); }

}  // namespace ompl::arch
