// SPDX-License-Identifier: BSD-3-Clause
#include "arch/libraries/library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <list>
#include <mutex>
#include <utility>

#include "arch/environment.hpp"
#include "arch/signals.hpp"

namespace ompl::arch {
namespace {

// Whether a path's last part begins so. ThreadSanitizer does not see the lock of the dynamic linker, under which names are
// made and read.
[[gnu::no_sanitize("thread"), gnu::noinline]] bool is_named(const char* path, std::string_view begin) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/') name = path + 1;
  }
  for (const char wanted : begin) {
    if (*name++ != wanted) return false;
  }
  return true;
}

}  // namespace

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

std::vector<std::string> loaded_files(std::string_view begin) {
  struct Search {
    std::string_view begin;
    std::vector<std::string> found;
  } search{.begin = begin, .found = {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t /*size*/, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (object->dlpi_name != nullptr && is_named(object->dlpi_name, wanted.begin))
          wanted.found.emplace_back(object->dlpi_name);
        return 0;
      },
      &search);
  return std::move(search.found);
}

}  // namespace ompl::arch
