// SPDX-License-Identifier: BSD-3-Clause
// Facts about the machine, as this process may use it.
#pragma once

#include <cstddef>
#include <string>

namespace ompl::arch {

// Cores this process may run on: the affinity mask, cut by the cgroup's CPU quota. At least 1.
unsigned usable_cores();

// Bytes of memory that can be had without swapping: MemAvailable, cut by the cgroup's limit.
std::size_t available_memory();

// Identity of the running host: equal for processes that could share memory, also across containers
// with the same kernel (they find out by trying).
std::string host_identity();

}  // namespace ompl::arch
