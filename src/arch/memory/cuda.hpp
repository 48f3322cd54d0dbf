// SPDX-License-Identifier: BSD-3-Clause
// The few functions of CUDA's driver that staging needs, found in the library that the program has loaded.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ompl::arch {

// CUDA_MEMCPY2D of cuda.h, which is part of the driver's binary interface.
struct CudaCopy2d {
  std::size_t from_x = 0, from_y = 0;
  int from_type = 0;
  const void* from_host = nullptr;
  unsigned long long from_device = 0;
  void* from_array = nullptr;
  std::size_t from_pitch = 0;
  std::size_t to_x = 0, to_y = 0;
  int to_type = 0;
  void* to_host = nullptr;
  unsigned long long to_device = 0;
  void* to_array = nullptr;
  std::size_t to_pitch = 0;
  std::size_t width = 0, height = 0;
};

// Each function returns a CUresult, 0 for success.
struct CudaDriver {
  int (*pointer_attribute)(void* data, int attribute, unsigned long long address);
  int (*push)(void* context);
  int (*pop)(void** context);
  int (*current)(void** context);
  int (*retain_primary)(void** context, int device);
  int (*release_primary)(int device);
  int (*register_host)(void* address, std::size_t bytes, unsigned flags);
  int (*unregister_host)(void* address);
  int (*create_stream)(void** stream, unsigned flags);
  int (*destroy_stream)(void* stream);
  int (*synchronize)(void* stream);
  int (*to_host)(void* to, unsigned long long from, std::size_t bytes, void* stream);
  int (*to_device)(unsigned long long to, const void* from, std::size_t bytes, void* stream);
  int (*copy_2d)(const CudaCopy2d* copy, void* stream);
  int (*error_name)(int error, const char** name);
  int (*context_id)(void* context, unsigned long long* id);  // since CUDA 12; null before

  static constexpr int kContext = 1;  // CU_POINTER_ATTRIBUTE_CONTEXT
  static constexpr int kOrdinal = 9;  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
  static constexpr int kHost = 1;     // CU_MEMORYTYPE_HOST
  static constexpr int kDevice = 2;   // CU_MEMORYTYPE_DEVICE
  static constexpr int kInvalidValue = 1;
  static constexpr int kOutOfMemory = 2;
  static constexpr int kNotRegistered = 713;         // CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
  static constexpr unsigned kRegisterPortable = 1;   // CU_MEMHOSTREGISTER_PORTABLE: for every context
  static constexpr unsigned kStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING: no order with stream 0

  // False if the program has not loaded the library, or it lacks a function: *missing then names what there is not.
  [[nodiscard]] bool find(const char** missing);
  // "CUDA_ERROR_INVALID_VALUE", say.
  [[nodiscard]] const char* name_of(int error) const;
};

}  // namespace ompl::arch
