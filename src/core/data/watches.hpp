// SPDX-License-Identifier: BSD-3-Clause
// The flags that callbacks wait for. Whoever changes a flag of a rank with watches leaves a mark for it in the rank's segment
// header, so that only watches of changed flags are looked at, however many there are. Used under the claim of Callbacks, but for
// prepare().
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include "core/data/handle.hpp"
#include "core/memory/segment_header.hpp"

namespace ompl {

class Watches {
 public:
  ~Watches() { delete chains_.load(); }

  // Makes the chains; before the first insert(). Any thread.
  void prepare() {
    if (chains_.load(std::memory_order_acquire) != nullptr) return;
    auto made = std::make_unique<Chains>();
    Chains* none = nullptr;
    if (chains_.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel))
      static_cast<void>(made.release());  // the chains own it now
  }

  void insert(Pending* entry) {
    Chains& chains = *chains_.load(std::memory_order_relaxed);
    const uint32_t mark = mark_of(static_cast<Watch*>(entry)->condition.flag_addr);
    entry->next = chains.first[mark];
    chains.first[mark] = entry;
    chains.used[mark / 64] |= uint64_t{1} << mark % 64;
    chains.groups[mark / 64 / 64] |= uint64_t{1} << mark / 64 % 64;
    ++count_;
  }

  // Takes out the watches for which `is_over(*watch)` holds, and calls `take(watch)`. Of few watches, or if `all`, it looks at
  // every one; else at those of marked flags, and at a few others in turn: a program may also change its flags by ompl_ptr().
  template <class IsOver, class Take>
  void collect(FlagMarks& marks, bool all, IsOver is_over, Take take) {
    if (count_ == 0) return;
    if (all || count_ <= kFew) {
      Chains& chains = *chains_.load(std::memory_order_relaxed);
      for (uint32_t group = 0; group < chains.groups.size(); ++group) {
        for (uint64_t left = chains.groups[group]; left != 0; left &= left - 1) {
          const uint32_t word = group * 64 + static_cast<uint32_t>(std::countr_zero(left));
          look_at_word(word, ~uint64_t{0}, is_over, take);
        }
      }
      return;
    }
    for (uint32_t group = 0; group < marks.groups.size(); ++group) {
      if (marks.groups[group].load(std::memory_order_seq_cst) == 0) continue;
      for (uint64_t left = marks.groups[group].exchange(0, std::memory_order_seq_cst); left != 0;
           left &= left - 1) {
        const uint32_t word = group * 64 + static_cast<uint32_t>(std::countr_zero(left));
        look_at_word(word, marks.words[word].exchange(0, std::memory_order_seq_cst), is_over, take);
      }
    }
    Chains& chains = *chains_.load(std::memory_order_relaxed);
    const uint64_t used = chains.used[turn_ / 64] >> turn_ % 64;
    if (used == 0) {
      turn_ = (turn_ / 64 + 1) * 64 % kMarks;
      return;
    }
    turn_ += static_cast<uint32_t>(std::countr_zero(used));
    look_at_word(turn_ / 64, uint64_t{1} << turn_ % 64, is_over, take);
    turn_ = (turn_ + 1) % kMarks;
  }

 private:
  static constexpr uint32_t kFew = 64;
  struct Chains {
    std::array<Pending*, kMarks> first{};
    std::array<uint64_t, kMarkWords> used{};         // a bit for each chain that is not empty,
    std::array<uint64_t, kMarkWords / 64> groups{};  // and for each word of these
  };

  template <class IsOver, class Take>
  void look_at_word(uint32_t word, uint64_t bits, IsOver is_over, Take take) {
    Chains& chains = *chains_.load(std::memory_order_relaxed);
    for (uint64_t left = bits & chains.used[word]; left != 0; left &= left - 1) {
      const uint32_t mark = word * 64 + static_cast<uint32_t>(std::countr_zero(left));
      for (Pending** at = &chains.first[mark]; *at != nullptr;) {
        Pending* const entry = *at;
        if (!is_over(*entry)) {
          at = &entry->next;
          continue;
        }
        *at = entry->next;
        --count_;
        take(entry);
      }
      if (chains.first[mark] == nullptr) chains.used[word] &= ~(uint64_t{1} << mark % 64);
    }
    if (chains.used[word] == 0) chains.groups[word / 64] &= ~(uint64_t{1} << word % 64);
  }

  std::atomic<Chains*> chains_{nullptr};
  uint32_t count_ = 0;
  uint32_t turn_ = 0;  // the chain that is looked at next whether it is marked or not
};

}  // namespace ompl
