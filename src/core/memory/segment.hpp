// SPDX-License-Identifier: BSD-3-Clause
// This rank's segment: address space reserved up to the capacity, backed by a memfd, committed in
// pieces. It vanishes with the last process that maps it, however that one ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/memory/node_memory.hpp"
#include "core/memory/segment_header.hpp"

namespace ompl {

// The ranks that share this node's memory, and a file of theirs that tells whose turn it is; -1: there is none.
struct NodeShare {
  std::size_t ranks = 1;
  int lock_fd = -1;
};

class Segment {
 public:
  Segment() = default;
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;
  ~Segment() { destroy(); }

  // Reserves `capacity` bytes and commits the header. `huge_pages`: advise the kernel to use them. `place`: in a file that others
  // share, whose descriptor is the segment's from now on; OMPL_ERR_UNSUPPORTED if it cannot be made there.
  int create(std::size_t capacity, uint64_t nonce, bool huge_pages, const SegmentPlace& place = {});

  // Makes [offset, offset + length) usable and zero, or fails with OMPL_ERR_MEMORY: never SIGBUS later. Only what is
  // committed is part of a core dump. `Side`: from which end of the segment allocations of this kind grow.
  enum class Side : uint8_t { bottom, top };
  int commit(uint64_t offset, std::size_t length, const NodeShare& node = {}, Side side = Side::bottom);
  // The same for a range of which no more than `first` bytes are committed at once, unless it was used before; before the rest
  // is used, commit_rest() commits parts of it, which are zero if they were not written. At the bottom.
  int commit_partly(uint64_t offset, std::size_t length, std::size_t first, const NodeShare& node);
  int commit_rest(uint64_t offset, std::size_t length, const NodeShare& node);

  // Unmaps it; the offsets of other processes' mappings stay valid.
  void destroy();

  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] int fd() const { return fd_; }
  // Where it begins in the file of fd(), and how long that is.
  [[nodiscard]] uint64_t file_offset() const { return place_.offset; }
  [[nodiscard]] uint64_t file_length() const { return place_.length; }
  [[nodiscard]] uint32_t first_of_file() const { return place_.first; }
  [[nodiscard]] SegmentHeader& header() const { return header_of(base_); }

 private:
  int open_file();
  int create_alone();
  int create_at(const SegmentPlace& place);
  int take(uint64_t offset, std::size_t length, const NodeShare& node);  // not zeroed
  void populate_ahead(uint64_t offset, uint64_t length);
  [[nodiscard]] int allocate(uint64_t begin, uint64_t length);               // 0 or an error number
  [[nodiscard]] int populate(uint64_t begin, uint64_t length, int refusal);  // likewise

  std::byte* base_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t fresh_from_ = 0;  // between these never used so far: zero as the kernel gives it
  std::size_t fresh_to_ = 0;
  int fd_ = -1;
  SegmentPlace place_;  // its descriptor is fd_
  bool huge_pages_ = false;
  bool warned_ = false;  // of fallocate
};

}  // namespace ompl
