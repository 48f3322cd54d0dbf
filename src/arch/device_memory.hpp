// SPDX-License-Identifier: BSD-3-Clause
// Whether an address is a GPU's. Nothing of a GPU's software is linked or loaded: if the program has loaded a
// driver library (CUDA, ROCm's HIP), it is asked.
#pragma once

#include <cstdint>

namespace ompl::arch {

// Addresses of one such block are all the CPU's or all a GPU's: drivers map device memory in pages of 2 MiB.
inline constexpr uint64_t kDeviceBlock = uint64_t{2} << 20;

// Some microseconds. Any thread.
bool gpu_driver_is_loaded();

// Memory that only a device can reach; managed and pinned host memory are not. Any thread.
bool is_device_memory(const void* address);

}  // namespace ompl::arch
