// SPDX-License-Identifier: BSD-3-Clause
// A rank's file while it is written: the header and blocks, mapped, so that a crash loses nothing that was recorded.
#pragma once

#include <atomic>
#include <cstdint>

#include "clock.hpp"
#include "format.hpp"

namespace ompl::trace {

class File {
 public:
  // Makes `folder`/rank.NNNNNN.omplt with this header. False: said why on standard error.
  bool create(const char* folder, const FileHeader& header, const Clock& clock);

  // The block of a stream, mapped and its pages present; null if there is no room (said once).
  BlockHeader* add_block(uint32_t stream);
  // Copies a block that is full to one of its own, and empties it for the stream's next records: its pages need not be
  // faulted in again, and stay in the cache. False if there is no room (said once).
  bool keep(BlockHeader* block);
  static void release(BlockHeader* block);

  void count_lost() { std::atomic_ref(header_->lost).fetch_add(1, std::memory_order_relaxed); }

  FileHeader& header() { return *header_; }
  const Clock& clock() const { return *clock_; }

 private:
  void begin(BlockHeader& block) const;
  void count(uint64_t index);
  void say_full();

  int file_ = -1;
  FileHeader* header_ = nullptr;
  const Clock* clock_ = nullptr;
  std::atomic<uint64_t> next_block_{0};
  std::atomic<bool> full_{false};
};

}  // namespace ompl::trace
