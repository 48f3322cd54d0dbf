// SPDX-License-Identifier: BSD-3-Clause
// Whether an address is a GPU's. Nothing of a GPU's software is linked or loaded: if the program has loaded a
// driver library (CUDA, ROCm's HIP), it is asked.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace ompl::arch {

enum class MemoryOwner : uint8_t {
  host,  // also managed and pinned memory, and what no driver knows
  cuda,
  hip
};

// The drivers of this process that have been found. They stay loaded while it lives.
class GpuDrivers {
 public:
  GpuDrivers() = default;
  ~GpuDrivers();
  GpuDrivers(const GpuDrivers&) = delete;
  GpuDrivers& operator=(const GpuDrivers&) = delete;

  // Looks for those that were loaded since. Some microseconds; one thread at a time.
  void look();
  [[nodiscard]] bool any() const { return has(MemoryOwner::cuda) || has(MemoryOwner::hip); }
  [[nodiscard]] bool has(MemoryOwner owner) const { return question(owner).load() != nullptr; }
  // Who can reach the memory at `address`. Any thread.
  [[nodiscard]] MemoryOwner owner_of(const void* address) const;

 private:
  using Question = int (*)(void* data, int attribute, unsigned long long address);
  [[nodiscard]] const std::atomic<Question>& question(MemoryOwner owner) const {
    return questions_[owner == MemoryOwner::cuda ? 0 : 1];
  }
  std::array<std::atomic<Question>, 2> questions_{};  // of CUDA, of HIP
  std::array<void*, 2> libraries_{};
};

// Memory that only a device can reach. Some microseconds: for calls that are rare. Any thread.
bool is_device_memory(const void* address);

}  // namespace ompl::arch
