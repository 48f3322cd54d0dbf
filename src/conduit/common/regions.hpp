// SPDX-License-Identifier: BSD-3-Clause
// Registered memory of this rank: its allocations, by their offsets in the segment, or memory of the program, by its
// addresses. One thread at a time changes a table; any thread looks into it, without a lock. Allocations are made in one
// order everywhere [20], so an allocation has the same place in every rank's table.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace ompl::conduit {

// `Memory` is what registers a region and gives it up when it goes.
template <class Memory, int Max>
class RegionTable {
 public:
  static constexpr int kMax = Max;
  static constexpr int kNone = -1;

  // The first free place, or kNone.
  [[nodiscard]] int vacant() const {
    for (int place = 0; place < kMax; ++place) {
      if (!entries_[index(place)].memory) return place;
    }
    return kNone;
  }
  // Takes [begin, end) into the first free place, which it returns, or kNone. `local_key` is what the device calls it, if it does.
  int add(uint64_t begin, uint64_t end, Memory memory, uint32_t local_key = 0) {
    const int place = vacant();
    if (place == kNone) return kNone;
    Entry& entry = entries_[index(place)];
    version_.fetch_add(1);
    entry.generation.fetch_add(1);
    entry.begin.store(begin);
    entry.end.store(end);
    entry.local_key.store(local_key);
    entry.memory.emplace(std::move(memory));
    entry.generation.fetch_add(1);
    if (place >= used_.load()) used_.store(place + 1);
    return place;
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
    std::optional<Memory> memory;
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

// The peer's allocation that was put to last.
struct Aim {
  uint64_t begin = 0;  // offsets
  uint64_t length = 0;
  uint64_t version = 0;  // of the table of regions
  uint64_t base = 0;     // what the device calls offset 0 of the peer's segment
  uint32_t key = 0;

  [[nodiscard]] bool covers(uint64_t offset, std::size_t bytes,
                            const std::atomic<uint64_t>& now) const {
    const uint64_t inside = offset - begin;
    return inside < length && bytes <= length - inside &&
           version == now.load(std::memory_order_relaxed);
  }
};

}  // namespace ompl::conduit
