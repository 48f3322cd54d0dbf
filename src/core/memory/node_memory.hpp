// SPDX-License-Identifier: BSD-3-Clause
// Memory that the ranks of a node share from the start: files that hold the segments of several ranks each, which a rank maps as
// one, and a table in which ranks tell each other what they would else ask the launcher for, rank by rank. So the start of N ranks on
// a node takes neither N^2 mappings nor N^2 messages.
//
// The first rank of the node makes all of it, the others open it under /proc. Who cannot, or is told of another node, has a
// segment in a file of its own and does without: the ranks then find each other one by one (conduit/shm).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "core/memory/segment_header.hpp"

namespace ompl {

// Where a segment lies in a file that others share; fd -1: it has a file of its own. The descriptor is the segment's.
struct SegmentPlace {
  int fd = -1;
  uint64_t offset = 0;  // of the segment's first byte
  uint64_t length = 0;  // of the file
  uint32_t first =
      0;  // its first rank, counted among those of the node: where it is mapped (arch/memory/mapping.hpp)
};

// A rank in the table.
struct NodeEntry {
  std::atomic<uint32_t> there;  // 1: what follows is written, and stays
  uint32_t card_length;
  uint64_t cores[kCoreWords];  // affinity mask of its process
  char card[512];
};

// What all together count, of those in the table.
struct NodeTotals {
  std::atomic<uint32_t> threads;        // as SegmentHeader::threads
  std::atomic<uint32_t> no_futex;       // ranks of which SegmentHeader::no_futex is 1,
  std::atomic<uint32_t> needs_network;  // or needs_network,
  std::atomic<uint32_t> partial;        // or who do not map all others that are in the table
};

class NodeMemory {
 public:
  NodeMemory() = default;
  ~NodeMemory() { close(); }
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;

  // Finds the node's memory, or makes it. Collective over the job: one fence, whose error is the only one. `host`: identity of this
  // node; `capacity`: bytes of a segment; `wanted`: whether this rank can use it.
  int join(bootstrap::Bootstrap& bootstrap, const std::string& host, std::size_t capacity, bool wanted);
  // Where this rank's segment may be made. Without a place, or if it was made elsewhere, it is not in the table.
  [[nodiscard]] SegmentPlace take_place();
  void give_up();

  // Tells the others of this rank; false if it is not here, or that is too long.
  bool publish(std::string_view card, std::span<const uint64_t, kCoreWords> cores);
  // Everybody has come: what no other rank needs any more is given back.
  void settle();
  void close();

  // --- After the fence that follows publish(). Any thread.
  // Whether this rank, or another, is in the table.
  [[nodiscard]] bool joined() const { return published_; }
  [[nodiscard]] bool has(uint32_t rank) const { return entry(rank) != nullptr; }
  // What that rank has published; false: nothing.
  bool read(uint32_t rank, std::string* card) const;
  // Null: the rank is not in the table, or this one is not.
  [[nodiscard]] const NodeEntry* entry(uint32_t rank) const;
  // Null where joined() is false.
  [[nodiscard]] NodeTotals* totals() const { return published_ ? &table_->totals : nullptr; }

 private:
  static constexpr uint32_t kMaxFiles = 64;  // descriptors of the first rank, for a moment
  static constexpr uint32_t kRanksOfAFile =
      16;  // at least: ranks that commit memory in one file wait for each other
  struct Table {
    NodeTotals totals;
    uint32_t ranks;
    std::array<int32_t, kMaxFiles> fds;  // of the first rank's process
    std::array<uint64_t, kMaxFiles> inodes;
    NodeEntry entries[];
  };

  void find_ranks(const std::vector<uint32_t>& nodes, uint32_t rank, uint32_t size);
  [[nodiscard]] std::size_t table_bytes() const;
  [[nodiscard]] uint32_t ranks_of_a_file() const;
  bool create(std::size_t capacity);
  bool create_files();
  bool attach(std::string_view card, const std::string& host);
  bool map_table(int fd);
  void place_segment(int fd);
  [[nodiscard]] uint32_t position(uint32_t rank) const;

  std::vector<uint32_t> ranks_;  // of the node as the launcher tells it, ascending
  uint32_t place_of_ = 0;        // this rank's, among them
  std::size_t capacity_ = 0;
  std::size_t stride_ = 0;
  Table* table_ = nullptr;
  std::vector<int> files_;  // of the first rank, until everybody has come
  SegmentPlace place_;
  bool published_ = false;
};

}  // namespace ompl
