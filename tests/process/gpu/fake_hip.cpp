// SPDX-License-Identifier: BSD-3-Clause
// A stand-in for HIP's library: one page of "device memory" that no CPU may touch, and the one question that the layer asks.
#include <sys/mman.h>

#include <cstdint>

namespace {
constexpr uint64_t kBytes = uint64_t{2} << 20;
}

extern "C" uint64_t fake_device_memory() {
  static void* const memory =
      ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return reinterpret_cast<uint64_t>(memory);
}

extern "C" int hipPointerGetAttribute(void* data, int attribute, unsigned long long address) {
  if (address - fake_device_memory() >= kBytes) return 1;  // hipErrorInvalidValue: not the driver's
  if (attribute == 2) *static_cast<unsigned*>(data) = 2;   // HIP_POINTER_ATTRIBUTE_MEMORY_TYPE: device
  if (attribute == 8) *static_cast<int*>(data) = 0;        // HIP_POINTER_ATTRIBUTE_IS_MANAGED
  return 0;
}
