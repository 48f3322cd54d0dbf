// SPDX-License-Identifier: BSD-3-Clause
// Facts about the machine, as this process may use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ompl::arch {

// The process's affinity mask, bit i of word i / 64 for core i; cores beyond the span are left out.
void affinity(std::span<uint64_t> mask);

// Cores the cgroup's CPU quota amounts to, rounded up, or a huge number if there is none.
unsigned core_quota();

// Bytes of memory that can be had without swapping: MemAvailable, cut by the cgroup's limit.
std::size_t available_memory();

// Identity of the running host: equal for processes that could share memory, also across containers
// with the same kernel (they find out by trying).
std::string host_identity();

}  // namespace ompl::arch
