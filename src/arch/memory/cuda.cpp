// SPDX-License-Identifier: BSD-3-Clause
#include "arch/memory/cuda.hpp"

#include <dlfcn.h>

#include <string>

#include "arch/libraries/library.hpp"
#include "arch/libraries/symbols.hpp"

namespace ompl::arch {
namespace {

// `missing`: the first that the library has not got, unless that is set already.
template <class Function>
void get(void* library, const char* name, Function* function, const char** missing) {
  if (!find_symbol(library, name, function) && *missing == nullptr) *missing = name;
}

}  // namespace

bool CudaDriver::find(const char** missing) {
  *missing = "libcuda.so";
  for (const std::string& file : loaded_files("libcuda.so")) {
    void* const library = ::dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    *missing = nullptr;
    get(library, "cuPointerGetAttribute", &pointer_attribute, missing);
    get(library, "cuCtxPushCurrent_v2", &push, missing);
    get(library, "cuCtxPopCurrent_v2", &pop, missing);
    get(library, "cuCtxGetCurrent", &current, missing);
    get(library, "cuDevicePrimaryCtxRetain", &retain_primary, missing);
    get(library, "cuDevicePrimaryCtxRelease_v2", &release_primary, missing);
    get(library, "cuMemHostRegister_v2", &register_host, missing);
    get(library, "cuMemHostUnregister", &unregister_host, missing);
    get(library, "cuStreamCreate", &create_stream, missing);
    get(library, "cuStreamDestroy_v2", &destroy_stream, missing);
    get(library, "cuStreamSynchronize", &synchronize, missing);
    get(library, "cuMemcpyDtoHAsync_v2", &to_host, missing);
    get(library, "cuMemcpyHtoDAsync_v2", &to_device, missing);
    get(library, "cuMemcpy2DAsync_v2", &copy_2d, missing);
    get(library, "cuGetErrorName", &error_name, missing);
    find_symbol(library, "cuCtxGetId", &context_id);
    if (*missing == nullptr) return true;  // the reference is kept: the functions stay
    ::dlclose(library);
  }
  return false;
}

const char* CudaDriver::name_of(int error) const {
  const char* name = nullptr;
  return error_name(error, &name) == 0 && name != nullptr ? name : "an unknown error";
}

}  // namespace ompl::arch
