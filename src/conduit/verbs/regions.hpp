// SPDX-License-Identifier: BSD-3-Clause
// Registered memory of this rank: its allocations, by their offsets in the segment, or memory of the program, by its
// addresses. One thread at a time changes a table; any thread looks into it, without a lock.
//
// Keys of allocations are published in a table of memory that every peer may read by RDMA: whoever first puts to an
// allocation reads its key there, and the target has nothing to do. Allocations are made in one order everywhere
// [20], so an allocation has the same place in every rank's table.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "conduit/verbs/library.hpp"

namespace ompl::conduit::verbs {

// An entry of the published table.
struct PublishedKey {
  uint64_t begin = 0;  // offset of the allocation, so that a mistaken reader sees it
  uint32_t key = 0;
  uint32_t valid = 0;
};

class Regions {
 public:
  static constexpr int kMax = 4096;
  static constexpr int kNone = -1;

  // Takes [begin, end) into the first free place, which it returns, or kNone.
  int add(uint64_t begin, uint64_t end, Owned<ibv_mr> memory) {
    for (int place = 0; place < kMax; ++place) {
      Entry& entry = entries_[index(place)];
      if (entry.memory) continue;
      version_.fetch_add(1);
      entry.generation.fetch_add(1);
      entry.begin.store(begin);
      entry.end.store(end);
      entry.local_key.store(memory->lkey);
      entry.memory = std::move(memory);
      entry.generation.fetch_add(1);
      if (place >= used_.load()) used_.store(place + 1);
      return place;
    }
    return kNone;
  }
  // Gives up what begins there, and returns its place, or kNone.
  int remove(uint64_t begin) {
    for (int place = 0; place < used_.load(); ++place) {
      Entry& entry = entries_[index(place)];
      if (!entry.memory || entry.begin.load() != begin) continue;
      version_.fetch_add(1);
      entry.generation.fetch_add(1);
      entry.end.store(0);
      entry.generation.fetch_add(1);
      entry.memory.reset();
      return place;
    }
    return kNone;
  }

  // The place whose region covers `length` bytes at `begin`, or kNone; `hint` is looked at first. Any thread.
  [[nodiscard]] int find(uint64_t begin, std::size_t length, int hint) const {
    if (covers(hint, begin, length)) return hint;
    const int used = used_.load(std::memory_order_acquire);
    for (int place = 0; place < used; ++place) {
      if (covers(place, begin, length)) return place;
    }
    return kNone;
  }
  [[nodiscard]] uint64_t begin(int place) const { return entries_[index(place)].begin.load(); }
  [[nodiscard]] uint64_t end(int place) const { return entries_[index(place)].end.load(); }
  // Another one whenever the table changes.
  [[nodiscard]] const std::atomic<uint64_t>& version() const { return version_; }
  [[nodiscard]] uint32_t local_key(int place) const {
    return entries_[index(place)].local_key.load(std::memory_order_relaxed);
  }
  // Another one each time the place is taken.
  [[nodiscard]] uint32_t generation(int place) const {
    return entries_[index(place)].generation.load(std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::atomic<uint32_t> generation{0};  // odd while the entry changes
    std::atomic<uint32_t> local_key{0};
    std::atomic<uint64_t> begin{0};
    std::atomic<uint64_t> end{0};
    Owned<ibv_mr> memory{nullptr, nullptr};
  };
  static std::size_t index(int place) { return static_cast<std::size_t>(place); }

  [[nodiscard]] bool covers(int place, uint64_t begin, std::size_t length) const {
    const Entry& entry = entries_[index(place)];
    const uint32_t before = entry.generation.load(std::memory_order_acquire);
    const uint64_t from = entry.begin.load(std::memory_order_acquire);
    const uint64_t to = entry.end.load(std::memory_order_acquire);
    return from <= begin && begin < to && length <= to - begin && before % 2 == 0 &&
           entry.generation.load(std::memory_order_relaxed) == before;
  }

  std::array<Entry, kMax> entries_;
  std::atomic<int> used_{0};
  std::atomic<uint64_t> version_{0};
};

}  // namespace ompl::conduit::verbs
