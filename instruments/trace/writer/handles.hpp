// SPDX-License-Identifier: BSD-3-Clause
// From a handle of MPI's to what is known of it: looked up by all threads without a lock, changed under one.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory.hpp"

namespace ompl::trace {

inline constexpr uint64_t kNoHandle = 0;
inline constexpr uint64_t kErasedHandle = 1;

// Handles are small numbers with a few high bits, or pointers to objects of some 64 bytes at least.
inline std::size_t place_of(uint64_t handle) { return handle >> 32 == 0 ? handle : handle >> 6; }

template <typename Value, std::size_t Capacity>
class HandleTable {
 public:
  bool create() { return (entries_ = map_zeroed<Entry>(Capacity)) != nullptr; }

  const Value* find(uint64_t handle) const {
    for (std::size_t i = 0; i < Capacity; ++i) {
      const Entry& entry = entries_[(place_of(handle) + i) % Capacity];
      const uint64_t here = entry.handle.load(std::memory_order_acquire);
      if (here == handle) return &entry.value;
      if (here == kNoHandle) break;
    }
    return nullptr;
  }

  // Null if it is full. Under the caller's lock.
  const Value* insert(uint64_t handle, const Value& value) {
    for (std::size_t i = 0; i < Capacity; ++i) {
      Entry& entry = entries_[(place_of(handle) + i) % Capacity];
      if (entry.handle.load(std::memory_order_relaxed) > kErasedHandle) continue;
      entry.value = value;
      entry.handle.store(handle, std::memory_order_release);
      return &entry.value;
    }
    return nullptr;
  }

  void erase(const Value* value) {
    auto* const bytes = reinterpret_cast<const std::byte*>(value) - offsetof(Entry, value);
    auto* const entry = const_cast<Entry*>(reinterpret_cast<const Entry*>(bytes));
    entry->handle.store(kErasedHandle, std::memory_order_release);
  }

 private:
  struct Entry {
    std::atomic<uint64_t> handle;
    Value value;
  };

  Entry* entries_ = nullptr;
};

}  // namespace ompl::trace
