// SPDX-License-Identifier: BSD-3-Clause
// Which processes have their network interfaces in common.
#pragma once

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdint>

#include "arch/machine.hpp"
#include "util/secret.hpp"

namespace ompl::conduit {

// The same number for processes of one host and network namespace; 0: not known, as without /proc.
inline uint64_t network_identity() {
  struct stat status {};
  if (::stat("/proc/self/ns/net", &status) != 0) return 0;
  return keyed_hash("network", fmt::format("{} {}", arch::host_identity(), status.st_ino)) | 1;
}

}  // namespace ompl::conduit
