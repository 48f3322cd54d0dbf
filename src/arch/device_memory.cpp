// SPDX-License-Identifier: BSD-3-Clause
#include "arch/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <string>
#include <string_view>

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

// Whether a path ends in that name, with or without a version. ThreadSanitizer does not see the lock of the dynamic linker,
// under which names are made and read.
[[gnu::no_sanitize("thread"), gnu::noinline]] bool is_file_of(const char* path,
                                                              std::string_view library) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
  }
  for (const char wanted : library) {
    if (*name++ != wanted) return false;
  }
  return *name == '\0' || *name == '.';
}

// The file of a library that is loaded, of whatever version; "" if it is not.
std::string loaded_file(std::string_view library) {
  struct Search {
    std::string_view wanted;
    std::string found;
  } search{.wanted = library, .found = {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t /*size*/, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (object->dlpi_name == nullptr || !is_file_of(object->dlpi_name, wanted.wanted)) return 0;
        wanted.found = object->dlpi_name;
        return 1;
      },
      &search);
  return search.found;
}

// The function of a library that the program has loaded, or nullptr.
GetAttribute find(const Driver& driver) {
  const std::string file = loaded_file(driver.library);
  if (file.empty()) return nullptr;
  void* library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  GetAttribute function = nullptr;
  find_symbol(library, driver.function, &function);
  ::dlclose(library);  // the program's own reference keeps it
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
