// SPDX-License-Identifier: BSD-3-Clause
// Which rings of this rank something has come into: one look for whoever progresses. Callers of this node leave the mark
// themselves, for others whoever takes their record in does. A mark stays while more comes: a caller that finds it need not leave it.
// Whoever takes marks away looks at their rings afterwards.
#pragma once

#include <atomic>
#include <cstdint>

namespace ompl::calls {

class Arrivals {
 public:
  // `word` lies in the segment, the rings from offset `begin` on. Once, by one thread.
  void open(std::atomic<uint64_t>* word, uint64_t begin, uint64_t ring_bytes, uint32_t rings) {
    begin_ = begin;
    ring_bytes_ = ring_bytes;
    length_ = ring_bytes * rings;
    word_.store(word, std::memory_order_release);
  }

  // --- Any thread
  [[nodiscard]] bool open() const { return word_.load(std::memory_order_relaxed) != nullptr; }
  [[nodiscard]] bool any() const {
    const std::atomic<uint64_t>* const word = word_.load(std::memory_order_acquire);
    return word != nullptr && word->load(std::memory_order_relaxed) != 0;
  }
  // A word of the own segment has changed from outside: true if it is a ring's.
  bool note(uint64_t offset) {
    std::atomic<uint64_t>* const word = word_.load(std::memory_order_acquire);
    if (word == nullptr || offset - begin_ >= length_) return false;
    leave(*word, (offset - begin_) / ring_bytes_);
    return true;
  }
  void mark(uint64_t ring) { leave(*word_.load(std::memory_order_acquire), ring); }
  // After the count of a ring has changed, by an atomic that is sequentially consistent.
  static void leave(std::atomic<uint64_t>& word, uint64_t ring) {
    if ((word.load(std::memory_order_seq_cst) & bit(ring)) == 0)
      word.fetch_or(bit(ring), std::memory_order_seq_cst);
  }
  [[nodiscard]] uint64_t marks() const {
    return word_.load(std::memory_order_acquire)->load(std::memory_order_relaxed);
  }
  uint64_t take() {
    return word_.load(std::memory_order_acquire)->exchange(0, std::memory_order_seq_cst);
  }

  static constexpr uint64_t bit(uint64_t ring) { return uint64_t{1} << ring % 64; }

 private:
  std::atomic<std::atomic<uint64_t>*> word_{nullptr};
  uint64_t begin_ = 0;
  uint64_t ring_bytes_ = 1;
  uint64_t length_ = 0;
};

}  // namespace ompl::calls
