// SPDX-License-Identifier: BSD-3-Clause
// What SHMEM_DEBUG looks at besides what is always found. Each function returns OMPL_OK at once without it.
#pragma once

#include <array>
#include <string>

#include "core/state.hpp"

namespace shmem_core {

// A collective call, as far as all members of the team have to agree.
struct CollectiveCall {
  const char* name;
  const void* dest = nullptr;
  std::size_t dest_length = 0;  // bytes
  const void* source = nullptr;
  std::size_t source_length = 0;
  std::array<uint64_t, 3> numbers{};  // further arguments that all pass alike
};

// Compares the call with those of all members; looks at its buffers. Collective in the team.
int check_call_of_all(const Team& team, const CollectiveCall& call);
// Refuses memory that overlaps; that begins at the same place is allowed if `same`.
int check_overlap(const void* dest, std::size_t dest_length, const void* source,
                  std::size_t source_length, bool same);

// In which function, and, with SHMEM_DEBUG and debug information, in which line the program has called this library; "" if that
// is not known.
std::string place_of_call();

// memory.cpp: what is wrong with the use of `length` bytes of the heap, "" if nothing is.
std::string heap_misuse(uint64_t offset, std::size_t length);

inline int check_all(const Team& team, const CollectiveCall& call) {
  return state().debug ? check_call_of_all(team, call) : OMPL_OK;
}

}  // namespace shmem_core
