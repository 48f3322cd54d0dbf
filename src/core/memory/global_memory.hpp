// SPDX-License-Identifier: BSD-3-Clause
// The memory that ranks share: this rank's segment, what is allocated in the segments of all, where those of other ranks are
// mapped; and the program's own memory that is registered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "conduit/conduit.hpp"
#include "core/memory/allocation.hpp"
#include "core/memory/segment.hpp"

namespace ompl {

class GlobalMemory {
 public:
  // `capacity`: bytes of every rank's segment.
  GlobalMemory(uint32_t ranks, std::size_t capacity)
      : capacity_(capacity), allocator_(kFirstOffset, capacity), bases_(ranks, nullptr) {}

  // --- At the start and at the end, by one thread
  // Makes this rank's segment.
  int create(uint32_t rank, uint64_t nonce, bool huge_pages) {
    return segment_.create(capacity_, rank, nonce, huge_pages);
  }
  // Where a rank's segment is mapped; nullptr: it is not.
  void map(uint32_t rank, std::byte* base) { bases_[rank] = base; }
  // The ranks of this node, of which several may allocate at once.
  void share_node(const NodeShare& node) { node_ = node; }
  // Keeps a conduit, which learns from now on what is allocated and registered.
  void keep(std::unique_ptr<conduit::Conduit> conduit) { conduits_.push_back(std::move(conduit)); }
  // Gives everything back, conduits first.
  void close();

  // --- Looking at it. Any thread.
  [[nodiscard]] const Segment& segment() const { return segment_; }
  [[nodiscard]] SegmentHeader& header() const { return segment_.header(); }
  [[nodiscard]] const std::vector<std::byte*>& bases() const { return bases_; }
  [[nodiscard]] SegmentHeader& header(uint32_t rank) const { return header_of(bases_[rank]); }
  [[nodiscard]] const AllocationTable& allocations() const { return allocations_; }
  // nullptr if that is not allocated, or the rank is not mapped.
  [[nodiscard]] void* pointer(uint32_t rank, uint64_t offset) const;
  // Whether [address, address + length) lies in an allocation of the own segment, and where.
  bool offset_of(const void* address, std::size_t length, uint64_t* offset) const;

  // --- For ompl_alloc() and ompl_free(), by one thread
  // Takes memory, which every check then knows. OMPL_ERR_MEMORY: nothing was taken.
  int allocate(std::size_t size, uint64_t* offset);
  // What was taken: from now on no check knows it; then it may be given back.
  void withdraw(uint64_t offset) { allocations_.erase(offset); }
  void release(uint64_t offset, std::size_t size);

  // --- Memory of the program. Any thread.
  int register_memory(const void* address, std::size_t length);
  int unregister_memory(const void* address);

 private:
  int commit(uint64_t begin, std::size_t size);
  void revoke(uint64_t begin, std::size_t size, std::size_t count);

  const std::size_t capacity_;
  Segment segment_;
  NodeShare node_;
  AllocationTable allocations_;
  OffsetAllocator allocator_;
  std::vector<std::byte*> bases_;  // by rank
  std::vector<std::unique_ptr<conduit::Conduit>> conduits_;
  std::mutex regions_mutex_;
  std::map<uintptr_t, std::size_t> regions_;  // registered: address and length
};

}  // namespace ompl
