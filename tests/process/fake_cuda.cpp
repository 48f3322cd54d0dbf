// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for the CUDA driver, for want of a GPU where the tests run: one page of "device memory" that no CPU
// may touch, and the one question that the library asks. Built as libcuda.so.1, and as HIP's library libamdhip64.so.6, whose
// question is the same by another name.
#include <sys/mman.h>

#include <cstdint>

namespace {
constexpr uint64_t kBytes = uint64_t{2} << 20;

uint64_t device() {
  static const auto memory = [] {  // of its own 2 MiB block, as a driver's is
    auto* raw = static_cast<char*>(
        ::mmap(nullptr, 2 * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    return (reinterpret_cast<uint64_t>(raw) + kBytes - 1) / kBytes * kBytes;
  }();
  return memory;
}
}  // namespace

extern "C" uint64_t fake_device_memory() { return device(); }

extern "C" int FAKE_GPU_QUESTION(void* data, int attribute, unsigned long long address) {
  if (address - device() >= kBytes) return 1;             // CUDA_ERROR_INVALID_VALUE: not the driver's
  if (attribute == 2) *static_cast<unsigned*>(data) = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE: device
  if (attribute == 8) *static_cast<int*>(data) = 0;       // CU_POINTER_ATTRIBUTE_IS_MANAGED
  return 0;
}
