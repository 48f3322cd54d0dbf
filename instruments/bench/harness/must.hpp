// SPDX-License-Identifier: BSD-3-Clause
// Errors of the layer in workers, and its progress.
#pragma once

#include <omnipgas/ompl_ext.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace bench {

// The driver ends the other one of two ranks, so an error is thrown.
[[noreturn, gnu::cold]] inline void fail(const char* what) {
  throw std::runtime_error(std::string(what) + ": " + ompl_error_detail());
}
// Inlined: a call to check a result would cost as much as what is measured.
[[gnu::always_inline]] inline void expect(int code, const char* what) {
  if (code != OMPL_OK) [[unlikely]]
    fail(what);
}

// One of many ranks that fails ends at once: to leave in order it would wait for the others.
[[noreturn, gnu::cold]] inline void give_up(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, ompl_error_detail());
  std::_Exit(2);
}
inline void must(int code, const char* what) {
  if (code != OMPL_OK) [[unlikely]]
    give_up(what);
}

// Lets the layer go on with what it still owes other ranks; how that failed, else OMPL_OK.
inline int progress() {
  const int code = ompl_progress(OMPL_CTX_DEFAULT, 0);
  return code < 0 && code != OMPL_ERR_TIMEOUT ? code : OMPL_OK;
}

}  // namespace bench
