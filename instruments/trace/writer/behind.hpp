// SPDX-License-Identifier: BSD-3-Clause
// The functions of the library behind an interposer, which is compiled for OMPL_TRACE_LIBRARY, its name.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace ompl::trace {

enum class Symbol { function, data };

// Ends the process if there is none. Functions are those of the library, wherever it was loaded; if it was not, those
// behind this interposer, which may be another one, for another MPI. Of data that is wanted which everybody uses: a
// program may have a copy of its own, which is then the library's too.
inline void* find_symbol(const char* name, Symbol kind) {
  void* at = kind == Symbol::data ? dlsym(RTLD_DEFAULT, name) : nullptr;
  if (at == nullptr) {
    void* const library = dlopen(OMPL_TRACE_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    at = library != nullptr ? dlsym(library, name) : nullptr;
  }
  if (at == nullptr) at = dlsym(RTLD_NEXT, name);
  if (at == nullptr) {
    std::fprintf(stderr,
                 "ompl trace: no %s in this process: it was traced for " OMPL_TRACE_LIBRARY "\n", name);
    std::abort();
  }
  return at;
}

// Looked up without a lock, that the C++ library would bring along: whoever comes first finds the same.
template <typename Type>
class Real {
 public:
  explicit constexpr Real(const char* name) : name_(name) {}
  Type* get() {
    constexpr Symbol kKind = std::is_function_v<Type> ? Symbol::function : Symbol::data;
    void* at = at_.load(std::memory_order_relaxed);
    if (at == nullptr) at_.store(at = find_symbol(name_, kKind), std::memory_order_relaxed);
    return reinterpret_cast<Type*>(at);
  }

 private:
  const char* name_;
  std::atomic<void*> at_{nullptr};
};

// The address of a function or of data, as a pointer to that type.
#define OMPL_REAL_OF(type, name)                            \
  ([]() {                                                   \
    static constinit ::ompl::trace::Real<type> real(#name); \
    return real.get();                                      \
  }())
// OMPL_REAL(PMPI_Send)(...): calls it.
#define OMPL_REAL(function) OMPL_REAL_OF(decltype(function), function)

}  // namespace ompl::trace
