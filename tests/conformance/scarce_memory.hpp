// SPDX-License-Identifier: BSD-3-Clause
// An allocator that refuses what a test wants refused. Defines operator new: for one source of a program.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace ompl::conformance {

inline thread_local std::size_t t_most = SIZE_MAX;  // bytes at once
inline thread_local std::size_t t_made = 0;         // allocations
inline thread_local std::size_t t_refused = 0;      // the one that is

// While it lives, the n-th allocation of the calling thread from now on is refused; none where n is 0.
class Refusal {
 public:
  explicit Refusal(std::size_t n) {
    t_made = 0;
    t_refused = n;
  }
  ~Refusal() { t_refused = 0; }
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;
  [[nodiscard]] bool happened() const { return t_refused != 0 && t_made >= t_refused; }
};

// Of a stand-in for a library that is written in C, which refuses by a code.
inline bool is_of_stand_in(const void* caller) {
  Dl_info where{};
  if (::dladdr(caller, &where) == 0 || where.dli_fname == nullptr) return false;
  return std::strstr(where.dli_fname, "/stub/lib") != nullptr ||
         std::strstr(where.dli_fname, "libtofucom") != nullptr;
}

inline bool is_refused(std::size_t bytes, const void* caller) {
  if (bytes > t_most) return true;
  if (t_refused == 0) {
    ++t_made;
    return false;
  }
  return !is_of_stand_in(caller) && ++t_made == t_refused;
}

}  // namespace ompl::conformance

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  const bool refused = ompl::conformance::is_refused(bytes, __builtin_return_address(0));
  void* const memory = refused ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t& /*none*/) noexcept {
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}
