// SPDX-License-Identifier: BSD-3-Clause
// Which rings of this rank something has come into, and which bells were set: one look for whoever progresses. Callers of this node leave the mark
// themselves, for others whoever takes their record in does. A mark stays while more comes: a caller that finds it need not leave it.
// Whoever takes marks away looks at their rings afterwards.
#pragma once

#include <atomic>
#include <cstdint>

namespace ompl::calls {

class Arrivals {
 public:
  // `word` lies in the segment, and the word of the marks of bells behind it; the rings from offset `begin` on, and the bells
  // behind them. Once, by one thread.
  struct Bells {
    uint64_t count = 0;
    uint64_t ranks_of_mark = 1;
  };
  void open(std::atomic<uint64_t>* word, uint64_t begin, uint64_t ring_bytes, uint32_t rings,
            const Bells& bells) {
    begin_ = begin;
    ring_bytes_ = ring_bytes;
    bells_at_ = ring_bytes * rings;
    length_ = bells_at_ + bells.count * sizeof(uint32_t);
    ranks_of_mark_ = bells.ranks_of_mark;
    word_.store(word, std::memory_order_release);
  }

  // --- Any thread
  [[nodiscard]] bool open() const { return word_.load(std::memory_order_relaxed) != nullptr; }
  [[nodiscard]] bool any() const {
    const std::atomic<uint64_t>* const word = word_.load(std::memory_order_acquire);
    return word != nullptr &&
           (word[0].load(std::memory_order_relaxed) | word[1].load(std::memory_order_relaxed)) != 0;
  }
  // A word of the own segment has changed from outside: true if it is a ring's, or a bell.
  bool note(uint64_t offset) {
    std::atomic<uint64_t>* const word = word_.load(std::memory_order_acquire);
    const uint64_t at = offset - begin_;
    if (word == nullptr || at >= length_) return false;
    if (at < bells_at_) {
      leave(*word, at / ring_bytes_);
    } else {
      leave(word[1], (at - bells_at_) / sizeof(uint32_t) / ranks_of_mark_);
    }
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

  // The same of bells.
  void mark_bells(uint64_t group) { leave(word_.load(std::memory_order_acquire)[1], group); }
  [[nodiscard]] bool any_bells() const {
    return word_.load(std::memory_order_acquire)[1].load(std::memory_order_relaxed) != 0;
  }
  uint64_t take_bells() {
    return word_.load(std::memory_order_acquire)[1].exchange(0, std::memory_order_seq_cst);
  }

  static constexpr uint64_t bit(uint64_t ring) { return uint64_t{1} << ring % 64; }

 private:
  std::atomic<std::atomic<uint64_t>*> word_{nullptr};
  uint64_t begin_ = 0;
  uint64_t ring_bytes_ = 1;
  uint64_t bells_at_ = 0;  // from the rings' begin on,
  uint64_t length_ = 0;    // and their end
  uint64_t ranks_of_mark_ = 1;
};

}  // namespace ompl::calls
