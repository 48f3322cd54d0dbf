// SPDX-License-Identifier: BSD-3-Clause
// Who owns which offsets. Every rank makes the same calls in the same order, so the same code gives the
// same offsets everywhere, and every rank can check an address of any rank by looking at its own table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

namespace ompl {

// One allocation as a context remembers it, valid while the table's generation is the same.
struct Extent {
  uint64_t begin = 1;
  uint64_t length = 0;
  uint64_t generation = 0;

  // True if [offset, offset + size) lies inside. No overflow for any argument.
  [[nodiscard]] bool covers(uint64_t offset, uint64_t size, uint64_t now) const {
    const uint64_t inside = offset - begin;
    return inside < length && size <= length - inside && generation == now;
  }
};

// The allocations, sorted. One writer at a time (GlobalMemory's mutex); readers are any threads and
// never block: a sequence lock, all of whose words are atomics.
class AllocationTable {
 public:
  AllocationTable();
  ~AllocationTable();
  AllocationTable(const AllocationTable&) = delete;
  AllocationTable& operator=(const AllocationTable&) = delete;

  // Even while the table is at rest. Any thread.
  [[nodiscard]] const std::atomic<uint64_t>& generation() const { return generation_; }
  // The allocation that contains `offset`. Any thread.
  bool find(uint64_t offset, Extent* out) const;
  // Whether [offset, offset + size) lies in one. `last` is what the caller knew, and then knows. Any thread.
  bool holds(uint64_t offset, uint64_t size, Extent* last) const;

  // Writer only. insert() is false when the table is full; erase() of what is not there does nothing.
  bool insert(uint64_t begin, uint64_t length);
  void erase(uint64_t begin);
  // Makes everybody look again who remembers what was found.
  void touch() { generation_.fetch_add(2, std::memory_order_acq_rel); }

 private:
  struct Entry {
    std::atomic<uint64_t> begin;
    std::atomic<uint64_t> length;
  };
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 20;

  [[nodiscard]] std::size_t upper_bound(uint64_t begin, std::size_t count) const;

  std::atomic<uint64_t> generation_{0};
  std::atomic<std::size_t> count_{0};
  Entry* entries_;  // address space for kMaxEntries, touched as needed
};

// First fit over the offsets [first, capacity), granularity 256 bytes. One thread at a time.
class OffsetAllocator {
 public:
  OffsetAllocator(uint64_t first, uint64_t capacity);

  // At `lowest` or above; 0 if there is no room. Throws std::bad_alloc, having changed nothing.
  uint64_t allocate(std::size_t size, uint64_t lowest = 0);
  // What allocate() gave; needs no memory.
  void free(uint64_t offset, std::size_t size);
  // Where the highest of what is used ends; 0 if nothing is.
  [[nodiscard]] uint64_t end() const {
    return used_.empty() ? 0 : used_.rbegin()->first + used_.rbegin()->second;
  }

  static constexpr uint64_t kGranule = 256;

 private:
  std::map<uint64_t, uint64_t> holes_;  // begin -> length
  std::map<uint64_t, uint64_t> used_;   // the same, so that a hole needs no memory to come back
  uint64_t split(std::map<uint64_t, uint64_t>::iterator hole, uint64_t offset, uint64_t need);
};

}  // namespace ompl
