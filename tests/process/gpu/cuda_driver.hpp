// SPDX-License-Identifier: BSD-3-Clause
// The functions of CUDA's driver that gpu_worker calls itself: of a real card's driver, or of the stand-in.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

struct Cuda {
  void* library = nullptr;
  int (*init)(unsigned) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;
  int (*version)(int*) = nullptr;
  int (*retain_primary)(void**, int) = nullptr;
  int (*set_current)(void*) = nullptr;
  int (*create_context)(void**, unsigned, int) = nullptr;
  int (*destroy_context)(void*) = nullptr;
  int (*alloc)(uint64_t*, size_t) = nullptr;
  int (*alloc_async)(uint64_t*, size_t, void*) = nullptr;
  int (*free)(uint64_t) = nullptr;
  int (*alloc_managed)(uint64_t*, size_t, unsigned) = nullptr;
  int (*alloc_host)(void**, size_t, unsigned) = nullptr;
  int (*to_host)(void*, uint64_t, size_t) = nullptr;
  int (*to_device)(uint64_t, const void*, size_t) = nullptr;
  int (*question)(void*, int, unsigned long long) = nullptr;
  void* context = nullptr;

  template <class Function>
  void get(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(::dlsym(library, name));
    if (*function == nullptr) skip(name);
  }
  [[noreturn]] static void skip(const char* why) {
    std::printf("skipped: no GPU that CUDA can use: %s\n", why);
    std::fflush(stdout);
    std::_Exit(77);
  }
  static void must(int error, const char* call) {
    if (error == 0) return;
    std::fprintf(stderr, "gpu_worker: %s failed with %d\n", call, error);
    std::_Exit(1);
  }

  // Loads the driver and makes the primary context of the first device the thread's; ends the process with 77 if there is none.
  void open() {
    library = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) skip(::dlerror());
    get("cuInit", &init);
    get("cuDeviceGet", &device_get);
    get("cuDeviceGetName", &device_name);
    get("cuDriverGetVersion", &version);
    get("cuDevicePrimaryCtxRetain", &retain_primary);
    get("cuCtxSetCurrent", &set_current);
    get("cuCtxCreate_v2", &create_context);
    get("cuCtxDestroy_v2", &destroy_context);
    get("cuMemAlloc_v2", &alloc);
    get("cuMemAllocAsync", &alloc_async);
    get("cuMemFree_v2", &free);
    get("cuMemAllocManaged", &alloc_managed);
    get("cuMemHostAlloc", &alloc_host);
    get("cuMemcpyDtoH_v2", &to_host);
    get("cuMemcpyHtoD_v2", &to_device);
    get("cuPointerGetAttribute", &question);
    int device = 0;
    if (init(0) != 0 || device_get(&device, 0) != 0) skip("the driver finds no device");
    must(retain_primary(&context, device), "cuDevicePrimaryCtxRetain");
    must(set_current(context), "cuCtxSetCurrent");
  }
  uint64_t memory(size_t bytes) {
    uint64_t address = 0;
    must(alloc(&address, bytes), "cuMemAlloc");
    return address;
  }
  void fill(uint64_t device, const void* from, size_t bytes) {
    must(to_device(device, from, bytes), "cuMemcpyHtoD");
  }
  void read(void* into, uint64_t device, size_t bytes) {
    must(to_host(into, device, bytes), "cuMemcpyDtoH");
  }
};
