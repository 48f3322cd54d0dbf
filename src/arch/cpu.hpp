// SPDX-License-Identifier: BSD-3-Clause
// What differs between processors, in one place.
#pragma once

#include <atomic>
#include <cstdint>

namespace ompl::arch {

inline constexpr std::size_t kCacheLine = 64;

// Tells the core that this is a spin loop. No ordering.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Atomic views of words in a segment. All accesses that take part in the sleep protocol are
// sequentially consistent: see docs/explanation/waiting.md for why no stand-alone fence is needed.
inline std::atomic_ref<uint32_t> word32(std::byte* address) {
  return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(address));
}
inline std::atomic_ref<uint64_t> word64(std::byte* address) {
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(address));
}

}  // namespace ompl::arch
