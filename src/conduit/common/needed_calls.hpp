// SPDX-License-Identifier: BSD-3-Clause
// System calls without which a library aborts the process or waits for ever, in place of an error.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <string_view>

#include "util/status.hpp"

namespace ompl::conduit {

// A system call whose first argument is a descriptor.
struct NeededCall {
  const char* name;
  long number;
};

// OMPL_OK, or an error if the system refuses one, as a container's seccomp profile may. None does anything: -1 is no descriptor.
inline int try_calls(std::string_view library, std::initializer_list<NeededCall> calls) {
  constexpr long kNoDescriptor = -1;
  for (const NeededCall& call : calls) {
    if (::syscall(call.number, kNoDescriptor, 0L, nullptr, nullptr) >= 0 || !is_refusal(errno))
      continue;
    return fail(OMPL_ERR_SYSTEM, "{} cannot be used: {}", library, call_text(call.name, errno));
  }
  return OMPL_OK;
}

}  // namespace ompl::conduit
