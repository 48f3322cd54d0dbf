// SPDX-License-Identifier: BSD-3-Clause
// How tests call the functions of stub.hpp, which the library that the conduit has loaded exports.
#pragma once

#include <dlfcn.h>

#include "stub.hpp"

namespace ompl::conformance {

// Null without the stand-in.
template <class Function>
Function* stub_function(const char* name) {
  void* library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
  return library != nullptr ? reinterpret_cast<Function*>(::dlsym(library, name)) : nullptr;
}
#define STUB(function) ::ompl::conformance::stub_function<decltype(function)>(#function)

}  // namespace ompl::conformance
