// SPDX-License-Identifier: BSD-3-Clause
// The functions of the library behind an interposer, which is compiled for OMPL_TRACE_LIBRARY, its name.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace ompl::trace {

// Ends the process if there is none.
inline void* find_function(const char* name) {
  void* at = dlsym(RTLD_NEXT, name);
  if (at == nullptr) {  // a library that was loaded later, by name
    void* const library = dlopen(OMPL_TRACE_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    at = library != nullptr ? dlsym(library, name) : nullptr;
  }
  if (at == nullptr) {
    std::fprintf(stderr,
                 "ompl trace: no %s in this process: it was traced for " OMPL_TRACE_LIBRARY "\n", name);
    std::abort();
  }
  return at;
}

// Looked up without a lock, that the C++ library would bring along: whoever comes first finds the same.
template <typename Function>
class Real {
 public:
  explicit constexpr Real(const char* name) : name_(name) {}
  Function* get() {
    void* at = at_.load(std::memory_order_relaxed);
    if (at == nullptr) at_.store(at = find_function(name_), std::memory_order_relaxed);
    return reinterpret_cast<Function*>(at);
  }

 private:
  const char* name_;
  std::atomic<void*> at_{nullptr};
};

// OMPL_REAL(PMPI_Send)(...): calls it.
#define OMPL_REAL(function)                                                   \
  ([]() {                                                                     \
    static constinit ::ompl::trace::Real<decltype(function)> real(#function); \
    return real.get();                                                        \
  }())

}  // namespace ompl::trace
