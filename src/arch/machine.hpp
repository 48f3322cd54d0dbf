// SPDX-License-Identifier: BSD-3-Clause
// Facts about the machine, as this process may use it.
#pragma once

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ompl::arch {

// The process's affinity mask, bit i of word i / 64 for processor i; those beyond the span begin again at its first bit.
void affinity(std::span<uint64_t> mask);

// Cores that the CPU quotas of the cgroup and of those above it amount to, rounded up, or a huge number if there is none.
unsigned core_quota(const std::string& root = "");

// Bytes of memory that can be had without swapping: MemAvailable, cut by the limits of this process's cgroup and of those
// above it, of version 1 or 2. What the kernel can drop of a cgroup's use (caches of files) does not count as used.
// `root`: where /proc and /sys are found, for tests.
std::size_t available_memory(const std::string& root = "");

// Tasks (processes and threads) that may still be started within the limits of this process's cgroup (pids) and of those above
// it; SIZE_MAX if there is none.
std::size_t available_tasks(const std::string& root = "");

// Raises this process's limit on descriptors (the soft one, ulimit -Sn) to that number, or as near as it may. Lowers nothing.
void allow_descriptors(rlim_t count);

// Where the cards of Omni-Path are.
inline constexpr const char* kOmniPathDevices = "/dev/hfi1_[0-9]*";

// Whether there is a file of which the path matches, as a shell's patterns do.
bool has_file(const char* pattern);

// Identity of the running host: equal for processes that could share memory, also across containers
// with the same kernel (they find out by trying).
std::string host_identity();

}  // namespace ompl::arch
