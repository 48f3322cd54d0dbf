// SPDX-License-Identifier: BSD-3-Clause
// Errors of the layer in workers of many ranks.
#pragma once

#include <omnipgas/ompl.h>

#include <cstdio>
#include <cstdlib>

namespace bench {

// A rank that fails ends at once: to leave in order it would wait for the others.
[[noreturn, gnu::cold]] inline void give_up(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, ompl_error_detail());
  std::_Exit(2);
}
inline void must(int code, const char* what) {
  if (code != OMPL_OK) [[unlikely]]
    give_up(what);
}

}  // namespace bench
