// SPDX-License-Identifier: BSD-3-Clause
#include "core/memory/allocation.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace ompl {

AllocationTable::AllocationTable() {
  void* memory = ::mmap(nullptr, kMaxEntries * sizeof(Entry), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  entries_ = static_cast<Entry*>(memory);
}

AllocationTable::~AllocationTable() { ::munmap(entries_, kMaxEntries * sizeof(Entry)); }

// Index of the first entry that begins after `begin`.
std::size_t AllocationTable::upper_bound(uint64_t begin, std::size_t count) const {
  std::size_t low = 0;
  while (count > 0) {
    const std::size_t half = count / 2;
    if (entries_[low + half].begin.load(std::memory_order_acquire) <= begin) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low;
}

bool AllocationTable::find(uint64_t offset, Extent* out) const {
  for (;;) {
    const uint64_t before = generation_.load(std::memory_order_acquire);
    if (before % 2 != 0) continue;  // a writer is at work: it moves a few words and never blocks
    const std::size_t after = upper_bound(offset, count_.load(std::memory_order_acquire));
    Extent found{.begin = 1, .length = 0, .generation = before};
    if (after > 0) {
      found.begin = entries_[after - 1].begin.load(std::memory_order_acquire);
      found.length = entries_[after - 1].length.load(std::memory_order_acquire);
    }
    if (generation_.load(std::memory_order_relaxed) != before) continue;
    if (!found.covers(offset, 1, before)) return false;
    *out = found;
    return true;
  }
}

// What was found counts, though another allocation may have come or gone since.
bool AllocationTable::holds(uint64_t offset, uint64_t size, Extent* last) const {
  if (last->covers(offset, size, generation_.load(std::memory_order_acquire))) return true;
  return find(offset, last) && last->covers(offset, size, last->generation);
}

bool AllocationTable::insert(uint64_t begin, uint64_t length) {
  const std::size_t count = count_.load(std::memory_order_relaxed);
  if (count == kMaxEntries) return false;
  const std::size_t at = upper_bound(begin, count);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (std::size_t i = count; i > at; --i) {
    entries_[i].begin.store(entries_[i - 1].begin.load(std::memory_order_relaxed),
                            std::memory_order_release);
    entries_[i].length.store(entries_[i - 1].length.load(std::memory_order_relaxed),
                             std::memory_order_release);
  }
  entries_[at].begin.store(begin, std::memory_order_release);
  entries_[at].length.store(length, std::memory_order_release);
  count_.store(count + 1, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
  return true;
}

void AllocationTable::erase(uint64_t begin) {
  const std::size_t before = count_.load(std::memory_order_relaxed);
  const std::size_t after = upper_bound(begin, before);
  if (after == 0 || entries_[after - 1].begin.load(std::memory_order_relaxed) != begin) return;
  const std::size_t at = after - 1;
  const std::size_t count = before - 1;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  for (std::size_t i = at; i < count; ++i) {
    entries_[i].begin.store(entries_[i + 1].begin.load(std::memory_order_relaxed),
                            std::memory_order_release);
    entries_[i].length.store(entries_[i + 1].length.load(std::memory_order_relaxed),
                             std::memory_order_release);
  }
  count_.store(count, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_release);
}

OffsetAllocator::OffsetAllocator(uint64_t first, uint64_t capacity) {
  if (capacity > first) holes_.emplace(first, (capacity - first) / kGranule * kGranule);
}

uint64_t OffsetAllocator::allocate(std::size_t size, uint64_t lowest) {
  if (size > SIZE_MAX - kGranule) return 0;
  const uint64_t need = (size + kGranule - 1) / kGranule * kGranule;
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    const uint64_t offset = std::max(hole->first, lowest);
    const uint64_t ahead = offset - hole->first;
    if (ahead <= hole->second && need <= hole->second - ahead) return split(hole, offset, need);
  }
  return 0;
}

// Uses [offset, offset + need) of the hole.
uint64_t OffsetAllocator::split(std::map<uint64_t, uint64_t>::iterator hole, uint64_t offset,
                                uint64_t need) {
  const uint64_t ahead = offset - hole->first;
  const uint64_t behind = hole->second - ahead - need;
  if (ahead == 0 && behind == 0) {
    used_.insert(holes_.extract(hole));
    return offset;
  }
  const auto used = used_.emplace(offset, need).first;
  if (ahead != 0 && behind != 0) {
    try {
      holes_.emplace(offset + need, behind);
    } catch (const std::bad_alloc&) {
      used_.erase(used);
      throw;
    }
  }
  if (ahead != 0) {
    hole->second = ahead;
    return offset;
  }
  auto rest = holes_.extract(hole);
  rest.key() += need;
  rest.mapped() -= need;
  holes_.insert(std::move(rest));
  return offset;
}

void OffsetAllocator::free(uint64_t offset, std::size_t size) {
  auto freed = used_.extract(offset);
  if (freed.empty()) return;
  uint64_t length = (size + kGranule - 1) / kGranule * kGranule;
  auto next = holes_.upper_bound(offset);
  if (next != holes_.end() && next->first == offset + length) {
    length += next->second;
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += length;
      return;
    }
  }
  freed.mapped() = length;
  holes_.insert(std::move(freed));
}

}  // namespace ompl
