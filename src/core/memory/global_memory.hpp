// SPDX-License-Identifier: BSD-3-Clause
// The memory that ranks share: this rank's segment, what is allocated in the segments of all, where those of other ranks are
// mapped; and the program's own memory that is registered.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "conduit/conduit.hpp"
#include "core/memory/allocation.hpp"
#include "core/memory/local_areas.hpp"
#include "core/memory/node_memory.hpp"
#include "core/memory/segment.hpp"

namespace ompl {

class GlobalMemory {
 public:
  // `capacity`: bytes of every rank's segment.
  GlobalMemory(uint32_t ranks, std::size_t capacity)
      : capacity_(capacity), allocator_(kFirstOffset, capacity), bases_(ranks, nullptr) {}

  // --- At the start and at the end, by one thread
  // Makes this rank's segment: where node() has a place for it, else in a file of its own.
  int create(uint32_t rank, uint64_t nonce, bool huge_pages);
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
  // What the node's ranks share besides; joined before create().
  [[nodiscard]] NodeMemory& node() { return node_memory_; }
  [[nodiscard]] const NodeMemory& node() const { return node_memory_; }
  [[nodiscard]] SegmentHeader& header() const { return segment_.header(); }
  [[nodiscard]] const std::vector<std::byte*>& bases() const { return bases_; }
  [[nodiscard]] SegmentHeader& header(uint32_t rank) const { return header_of(bases_[rank]); }
  [[nodiscard]] const AllocationTable& allocations() const { return allocations_; }
  // nullptr if that is not allocated, or the rank is not mapped.
  [[nodiscard]] void* pointer(uint32_t rank, uint64_t offset) const;
  // Whether [address, address + length) lies in an allocation of all ranks in the own segment, and where.
  bool offset_of(const void* address, std::size_t length, uint64_t* offset) const;

  // Whether offsets above all that ompl_alloc gave are accepted for other ranks, which may have taken them alone. For good.
  void accept_local() { accepts_local_.store(true, std::memory_order_release); }
  [[nodiscard]] bool accepts_local() const { return accepts_local_.load(std::memory_order_acquire); }
  // Those offsets, as an extent of the table's generation; empty while they are not accepted.
  void local_range(Extent* out) const;
  // Whether an own allocation is one of all ranks.
  [[nodiscard]] bool is_symmetric(uint64_t offset) const {
    return offset < symmetric_end_.load(std::memory_order_acquire);
  }

  // --- For ompl_alloc() and ompl_free(), by one thread
  // Takes memory, which every check then knows. OMPL_ERR_MEMORY: nothing was taken.
  int allocate(std::size_t size, uint64_t* offset);
  // The same, of which `first` bytes may be used at once; the rest when commit_rest() has returned OMPL_OK for it.
  int allocate(std::size_t size, std::size_t first, uint64_t* offset);
  int commit_rest(uint64_t begin, std::size_t size);
  // What was taken: from now on no check knows it; then it may be given back.
  void withdraw(uint64_t offset);
  void release(uint64_t offset, std::size_t size);

  // --- Memory that this rank takes alone (local_memory.cpp). Any thread. `what`: the call, for errors.
  int allocate_local(std::size_t size, uint64_t* offset);
  // What was taken so: from now on no check knows it. `size`: bytes, for release_local(). OMPL_ERR_OFFSET: it was not.
  int withdraw_local(uint64_t offset, std::size_t* size);
  void release_local(uint64_t offset, std::size_t size);

  // --- The same for a team, by one thread of each member: takes offsets from `highest` downwards; then either gives them back or
  // makes them usable. withdraw() ends that, release_team() gives them back.
  int reserve_team(std::size_t size, uint64_t highest, uint64_t* offset);
  void cancel_team(uint64_t offset);
  int commit_team(uint64_t offset);
  [[nodiscard]] bool is_team(uint64_t offset);
  void release_team(uint64_t offset);

  // --- Memory of the program that becomes part of the segment (adoption.cpp), for all ranks or for this one alone
  int adopt(void* address, std::size_t length, uint64_t* offset);
  // OMPL_OK, or why that memory could not be adopted (OMPL_ERR_ARG, OMPL_ERR_UNSUPPORTED).
  static int can_adopt(const void* address, std::size_t length);
  int adopt_local(void* address, std::size_t length, uint64_t* offset);
  [[nodiscard]] bool is_adopted(uint64_t offset, bool symmetric);
  // Private memory again, in three steps: takes that memory, or fails; changes places, after which no check knows the offset;
  // gives the offset back. The first may be taken back.
  int prepare_restore(uint64_t offset, const char* what);
  void cancel_restore(uint64_t offset);
  int restore(uint64_t offset, const char* what);
  void release_adopted(uint64_t offset);
  // For a fork: the child has adopted memory for itself.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

  // --- Memory of the program. Any thread.
  int register_memory(const void* address, std::size_t length);
  int unregister_memory(const void* address);

 private:
  int commit(uint64_t begin, std::size_t size, Segment::Side side);
  // Of all ranks, of which `first` bytes are committed at once.
  int commit(uint64_t begin, std::size_t size, std::size_t first);
  int tell_conduits(uint64_t begin, std::size_t size, Segment::Side side);
  void revoke(uint64_t begin, std::size_t size, std::size_t count, Segment::Side side);
  void follow_end();
  struct Adopted {
    uint64_t offset = 0;
    std::size_t length = 0;
    std::byte* address = nullptr;
    uint64_t taken = 0;          // of the allocation of all ranks around it,
    std::size_t taken_size = 0;  // or 0: it is an area
    void* spare = nullptr;       // private memory for restore()
    void* copy = nullptr;        // for the child of a fork
    bool restored = false;
  };
  static int check_adoptable(const void* address, std::size_t length, const char* what);
  int take_in(const Adopted& adopted, const char* what);
  Adopted* adopted_at(uint64_t offset);
  void restore_all();
  LocalAreas& areas();
  int take_area(AreaKind kind, std::size_t length, uint64_t highest, Area** out);
  void drop_area(const Area& area);
  int take_small(std::size_t size, uint64_t* offset);
  void give_back(uint64_t offset, std::size_t size);

  const std::size_t capacity_;
  uint32_t rank_ = 0;
  NodeMemory node_memory_;
  Segment segment_;
  NodeShare node_;
  std::mutex mutex_;  // whoever changes allocations, of either kind
  AllocationTable allocations_;
  OffsetAllocator allocator_;
  std::optional<LocalAreas> areas_;  // from the first use on
  std::size_t next_small_area_ = kFirstSmallArea;
  std::vector<Adopted> adopted_;
  // Where the highest allocation of all ranks ends. It is stored before the table changes, so that whoever has seen the
  // table's generation has seen this.
  std::atomic<uint64_t> symmetric_end_{kFirstOffset};
  std::atomic<bool> accepts_local_{false};
  std::vector<std::byte*> bases_;  // by rank
  std::vector<std::unique_ptr<conduit::Conduit>> conduits_;
  std::mutex regions_mutex_;
  std::map<uintptr_t, std::size_t> regions_;  // registered: address and length

  static constexpr std::size_t kFirstSmallArea = std::size_t{256} << 10;
  static constexpr std::size_t kLastSmallArea = std::size_t{16} << 20;
};

}  // namespace ompl
