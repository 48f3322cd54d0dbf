// SPDX-License-Identifier: BSD-3-Clause
// Whether something has come into a ring of this rank, and which: one look for whoever progresses. Callers of this node leave
// the mark themselves, for others whoever takes their record in does.
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
  // For a sleeper's last look [15].
  [[nodiscard]] bool any_at_last() const {
    const std::atomic<uint64_t>* const word = word_.load(std::memory_order_seq_cst);
    return word != nullptr && word->load(std::memory_order_seq_cst) != 0;
  }
  // A word of the own segment has changed from outside: true if it is a ring's.
  bool note(uint64_t offset) {
    std::atomic<uint64_t>* const word = word_.load(std::memory_order_acquire);
    if (word == nullptr || offset - begin_ >= length_) return false;
    word->fetch_or(bit((offset - begin_) / ring_bytes_), std::memory_order_seq_cst);
    return true;
  }
  void mark(uint64_t ring) {
    word_.load(std::memory_order_acquire)->fetch_or(bit(ring), std::memory_order_seq_cst);
  }
  // All bits, which are then none. Whoever takes them looks at the rings afterwards.
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
