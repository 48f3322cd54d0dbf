// SPDX-License-Identifier: BSD-3-Clause
// References through components, resolved at run time: where the elements of a(2)[3]%b%c(i:j) are.
#pragma once

#include <vector>

#include "gfortran/abi.hpp"

namespace gfortran {

struct Found {
  uint32_t rank = 0;
  std::vector<uint64_t> elements;    // addresses, in array element order
  std::vector<std::size_t> extents;  // of the dimensions that are no single element
  std::size_t item = 0;   // bytes of an element; of a string of deferred length, what is allocated
  bool allocated = true;  // false: the last allocatable component is not, and there are no elements
  // The last allocatable or pointer component, if any: for allocating it.
  uint64_t token_at = 0;
  uint64_t component_at = 0;
  bool is_array = false;
  bool whole = false;  // the reference ends with all of it
};

// An error if a component before the last is not allocated.
int find(const void* token, int image, const Reference* reference, Found* found);

// Has the image allocate the last component, with these extents.
int allocate_there(const Found& found, const std::vector<std::size_t>& extents, std::size_t item,
                   int type);

}  // namespace gfortran
