// SPDX-License-Identifier: BSD-3-Clause
// What the programs that rules.py runs as ranks have in common: they end with a line on stderr where a rule does not hold.
#pragma once

#include <omnipgas/ompl_inline.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

inline uint32_t rank() { return static_cast<uint32_t>(ompl_rank()); }
inline uint32_t next() { return (rank() + 1) % static_cast<uint32_t>(ompl_size()); }
inline uint64_t address(const void* memory) { return reinterpret_cast<uint64_t>(memory); }

[[noreturn]] inline void broken(const char* what) {
  std::fprintf(stderr, "%s: %s; last error: %s\n", program_invocation_short_name, what,
               ompl_error_detail());
  std::_Exit(1);
}
inline void expect(bool holds, const char* what) {
  if (!holds) broken(what);
}
inline void ok(int code, const char* what) {
  if (code != OMPL_OK) broken(what);
}
inline uint64_t allocate(std::size_t bytes) {
  uint64_t offset = 0;
  ok(ompl_alloc(bytes, &offset), "ompl_alloc");
  return offset;
}
