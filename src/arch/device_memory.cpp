// SPDX-License-Identifier: BSD-3-Clause
#include "arch/device_memory.hpp"

#include <dlfcn.h>

#include <string>
#include <string_view>

#include "arch/library.hpp"
#include "arch/symbols.hpp"

namespace ompl::arch {
namespace {

// Of the CUDA driver API, "Unified Addressing": cuPointerGetAttribute(), and of HIP likewise.
constexpr int kMemoryType = 2;   // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int kIsManaged = 8;    // CU_POINTER_ATTRIBUTE_IS_MANAGED
constexpr unsigned kDevice = 2;  // CU_MEMORYTYPE_DEVICE
using GetAttribute = int (*)(void* data, int attribute, unsigned long long address);

struct Driver {
  std::string_view library;  // without the version, which differs between releases
  const char* function;
};
constexpr Driver kDrivers[] = {{"libcuda.so", "cuPointerGetAttribute"},
                               {"libamdhip64.so", "hipPointerGetAttribute"}};

// The function of a library that the program has loaded, or nullptr.
GetAttribute find(const Driver& driver) {
  GetAttribute function = nullptr;
  for (const std::string& file : loaded_files(driver.library)) {
    void* library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    find_symbol(library, driver.function, &function);
    ::dlclose(library);  // the program's own reference keeps it
    if (function != nullptr) break;
  }
  return function;
}

}  // namespace

bool gpu_driver_is_loaded() {
  for (const Driver& driver : kDrivers) {
    if (find(driver) != nullptr) return true;
  }
  return false;
}

bool is_device_memory(const void* address) {
  const auto value = static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address));
  for (const Driver& driver : kDrivers) {
    const GetAttribute get = find(driver);
    unsigned type = 0;
    int managed = 0;  // fails for host memory that the driver does not know
    if (get == nullptr || get(&type, kMemoryType, value) != 0 || type != kDevice) continue;
    return get(&managed, kIsManaged, value) != 0 || managed == 0;
  }
  return false;
}

}  // namespace ompl::arch
