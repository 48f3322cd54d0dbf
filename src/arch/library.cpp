// SPDX-License-Identifier: BSD-3-Clause
#include "arch/library.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <list>
#include <mutex>
#include <vector>

#include "arch/environment.hpp"
#include "arch/signals.hpp"

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

void* open_library(const char* file, std::initializer_list<const char*> variables, std::string* why) {
  static std::mutex one_at_a_time;
  static std::list<std::vector<char*>> environments;  // other threads may still read them
  const std::lock_guard lock(one_at_a_time);
  if (void* loaded = ::dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); loaded != nullptr)
    return loaded;
  const KeptSignals kept;
  const AddedVariables added(&environments.emplace_back(), variables);
  return open_library(file, why);
}

}  // namespace ompl::arch
