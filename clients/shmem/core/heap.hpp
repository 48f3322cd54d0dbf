// SPDX-License-Identifier: BSD-3-Clause
// The allocator of the symmetric heap: which bytes of which pieces of the segment are taken. It knows offsets alone and keeps
// its lists outside of them, so that the same calls give the same offsets on every PE, whatever PEs write there.
//
// The heap grows by pieces, allocations of the layer. A block lies in one piece, since the layer lets no put leave an
// allocation. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace shmem_core {

class Heap {
 public:
  struct Piece {
    std::size_t length;
    std::map<uint64_t, std::size_t> free;  // offset -> length; neighbours are joined
  };

  static constexpr std::size_t kUnit = 64;  // blocks are multiples of it: PEs share no cache line

  // The lowest free place of the lowest piece that has room; 0: there is none.
  uint64_t take(std::size_t size, std::size_t alignment);
  void add(uint64_t offset, std::size_t length) { pieces_[offset] = Piece{length, {{offset, length}}}; }
  // The length of a block, or 0 if `offset` is none.
  [[nodiscard]] std::size_t length(uint64_t offset) const;
  // The block that `offset` lies in: where it begins, and its length; {0, 0}: none.
  [[nodiscard]] std::pair<uint64_t, std::size_t> block_at(uint64_t offset) const;
  // Gives a block back. Returns the offset of its piece if that is free as a whole now, else 0.
  uint64_t give(uint64_t offset);
  // Keeps the first bytes of a block.
  void shrink(uint64_t offset, std::size_t size);
  void remove(uint64_t piece) { pieces_.erase(piece); }

  [[nodiscard]] const std::map<uint64_t, Piece>& pieces() const { return pieces_; }
  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] std::size_t total() const;

 private:
  void free_range(uint64_t offset, std::size_t length);

  std::map<uint64_t, Piece> pieces_;
  std::map<uint64_t, std::size_t> blocks_;
  std::size_t used_ = 0;
};

}  // namespace shmem_core
