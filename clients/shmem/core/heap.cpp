// SPDX-License-Identifier: BSD-3-Clause
#include "core/heap.hpp"

#include <iterator>

namespace shmem_core {
namespace {

uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

uint64_t Heap::take(std::size_t size, std::size_t alignment) {
  size = round_up(size, kUnit);
  for (auto& [begin, piece] : pieces_) {
    for (const auto& [offset, length] : piece.free) {
      const uint64_t place = round_up(offset, alignment);
      if (place + size > offset + length) continue;
      const uint64_t from = offset;
      const uint64_t end = offset + length;
      piece.free.erase(from);
      if (place > from) piece.free[from] = place - from;
      if (end > place + size) piece.free[place + size] = end - place - size;
      blocks_[place] = size;
      used_ += size;
      return place;
    }
  }
  return 0;
}

std::size_t Heap::length(uint64_t offset) const {
  const auto block = blocks_.find(offset);
  return block == blocks_.end() ? 0 : block->second;
}

std::pair<uint64_t, std::size_t> Heap::block_at(uint64_t offset) const {
  const auto next = blocks_.upper_bound(offset);
  if (next == blocks_.begin()) return {0, 0};
  const auto& [begin, length] = *std::prev(next);
  return offset < begin + length ? std::pair{begin, length} : std::pair<uint64_t, std::size_t>{0, 0};
}

void Heap::free_range(uint64_t offset, std::size_t length) {
  Piece& piece = std::prev(pieces_.upper_bound(offset))->second;
  auto& free = piece.free;
  const auto next = free.lower_bound(offset);
  if (next != free.end() && next->first == offset + length) {
    length += next->second;
    free.erase(next);
  }
  const auto after = free.lower_bound(offset);
  if (after != free.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += length;
      return;
    }
  }
  free[offset] = length;
}

uint64_t Heap::give(uint64_t offset) {
  const auto block = blocks_.find(offset);
  const std::size_t length = block->second;
  blocks_.erase(block);
  used_ -= length;
  free_range(offset, length);
  const auto& [begin, piece] = *std::prev(pieces_.upper_bound(offset));
  return piece.free.begin()->second == piece.length ? begin : 0;
}

void Heap::shrink(uint64_t offset, std::size_t size) {
  std::size_t& length = blocks_.find(offset)->second;
  size = round_up(size, kUnit);
  if (size >= length) return;
  free_range(offset + size, length - size);
  used_ -= length - size;
  length = size;
}

std::size_t Heap::total() const {
  std::size_t sum = 0;
  for (const auto& [begin, piece] : pieces_) sum += piece.length;
  return sum;
}

}  // namespace shmem_core
