// SPDX-License-Identifier: BSD-3-Clause
// Operations of reductions on elements of a type, built in or the user's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "omnipgas/coll.h"

namespace ompl::coll {

inline constexpr int32_t kFirstOperation = 64;  // of the user; below are those built in

struct ReductionOperation {
  // out[i] = in[i] op own[i]; `out` may be `own`. Of any alignment.
  using Kernel = void (*)(const std::byte* in, const std::byte* own, std::byte* out, std::size_t count);

  Kernel kernel = nullptr;        // built in: commutative
  ompl_op_fn function = nullptr;  // else the user's
  void* argument = nullptr;
  int32_t type = -1;     // of a kernel, by which another process finds it,
  int32_t number = -1;   // and its operation
  uint32_t element = 1;  // bytes
  bool commutative = true;

  // out = in op own or, if it is `behind`, own op in, which overwrites `in`. False: the user's operation failed, or threw.
  bool apply(std::byte* in, const std::byte* own, std::byte* out, std::size_t bytes, bool behind) const;
};

// The kernel of a built-in operation on a type, nullptr if there is none; `element`: bytes of the type.
ReductionOperation::Kernel kernel_of(int32_t type, int32_t op, uint32_t* element);

}  // namespace ompl::coll
