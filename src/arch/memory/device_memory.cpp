// SPDX-License-Identifier: BSD-3-Clause
#include "arch/memory/device_memory.hpp"

#include <dlfcn.h>

#include <string>
#include <string_view>

#include "arch/libraries/library.hpp"
#include "arch/libraries/symbols.hpp"

namespace ompl::arch {
namespace {

// Of the CUDA driver API, "Unified Addressing": cuPointerGetAttribute(), and of HIP likewise.
constexpr int kMemoryType = 2;   // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr int kIsManaged = 8;    // CU_POINTER_ATTRIBUTE_IS_MANAGED
constexpr unsigned kDevice = 2;  // CU_MEMORYTYPE_DEVICE

struct Driver {
  std::string_view library;  // without the version, which differs between releases
  const char* function;
};
constexpr std::array<Driver, 2> kDrivers = {
    {{"libcuda.so", "cuPointerGetAttribute"}, {"libamdhip64.so", "hipPointerGetAttribute"}}};
constexpr std::array kOwners = {MemoryOwner::cuda, MemoryOwner::hip};

// A library that the program has loaded, to be closed, and its function; or nullptr.
template <class Function>
void* find(const Driver& driver, Function* function) {
  for (const std::string& file : loaded_files(driver.library)) {
    void* library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    find_symbol(library, driver.function, function);
    if (*function != nullptr) return library;
    ::dlclose(library);
  }
  return nullptr;
}

}  // namespace

GpuDrivers::~GpuDrivers() {
  for (void* const library : libraries_) {
    if (library != nullptr) ::dlclose(library);
  }
}

void GpuDrivers::look() {
  for (std::size_t i = 0; i < kDrivers.size(); ++i) {
    if (libraries_[i] != nullptr) continue;
    Question found = nullptr;
    libraries_[i] = find(kDrivers[i], &found);
    questions_[i].store(found);
  }
}

MemoryOwner GpuDrivers::owner_of(const void* address) const {
  const auto value = static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address));
  for (std::size_t i = 0; i < kDrivers.size(); ++i) {
    const Question ask = questions_[i].load(std::memory_order_acquire);
    unsigned type = 0;
    int managed = 0;  // fails for host memory that the driver does not know
    if (ask == nullptr || ask(&type, kMemoryType, value) != 0 || type != kDevice) continue;
    const bool reachable = ask(&managed, kIsManaged, value) == 0 && managed != 0;
    return reachable ? MemoryOwner::host : kOwners[i];
  }
  return MemoryOwner::host;
}

bool is_device_memory(const void* address) {
  GpuDrivers drivers;
  drivers.look();
  return drivers.owner_of(address) != MemoryOwner::host;
}

}  // namespace ompl::arch
