// SPDX-License-Identifier: BSD-3-Clause
// How often a test repeats what may go wrong by chance.
#pragma once

#include <cstdint>

namespace ompl {

// ThreadSanitizer is about ten times slower: fewer rounds find as much there.
constexpr uint32_t rounds(uint32_t count) {
#ifdef __SANITIZE_THREAD__
  return count / 5 + 1;
#else
  return count;
#endif
}

}  // namespace ompl
