// SPDX-License-Identifier: BSD-3-Clause
#include "arch/library.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>

namespace ompl::arch {

bool is_privileged() { return ::getauxval(AT_SECURE) != 0; }

void* open_library(const char* file, std::string* why) {
  if (is_privileged()) {
    *why = std::string(file) +
           " takes folders from the environment, and this process has more rights than who started it "
           "(AT_SECURE)";
    return nullptr;
  }
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) *why = ::dlerror();
  return library;
}

}  // namespace ompl::arch
