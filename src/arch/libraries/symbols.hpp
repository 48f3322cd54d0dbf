// SPDX-License-Identifier: BSD-3-Clause
// Functions of libraries that are loaded at run time.
#pragma once

#include <dlfcn.h>

namespace ompl::arch {

// Sets *function to the library's symbol of that name; false, and dlerror() says why, if there is none.
template <class Function>
bool find_symbol(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  return *function != nullptr;
}

}  // namespace ompl::arch
