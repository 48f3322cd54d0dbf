// SPDX-License-Identifier: BSD-3-Clause
// The replies that a rank awaits: a table in its segment, into which those put who have run its calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "arch/cpu.hpp"
#include "core/calls/layout.hpp"

namespace ompl::calls {

class ReplyTable {
 public:
  // `base`: where the memory of remote calls begins in the own segment.
  ReplyTable(const Layout& layout, std::byte* base)
      : layout_(layout), base_(base), used_(std::make_unique<std::atomic<bool>[]>(kReplies)) {}

  // A place for one reply; kReplies: all are taken. Any thread.
  uint32_t take() {
    for (uint32_t i = 0; i < kReplies; ++i) {
      const uint32_t place = next_.fetch_add(1, std::memory_order_relaxed) % kReplies;
      if (!used_[place].load(std::memory_order_relaxed) && !used_[place].exchange(true)) return place;
    }
    return kReplies;
  }
  // What the count of a place that was taken will be once its reply has come.
  [[nodiscard]] uint32_t next_count(uint32_t place) const { return word(place).load() + 1; }
  // Whoever took the place: nothing was sent that could be replied to, or the reply was read. A place whose reply may still come
  // stays taken.
  void give_back(uint32_t place) { used_[place].store(false); }

  // Null: it has not come.
  [[nodiscard]] const CallReply* find(uint32_t place, uint32_t count) const {
    return word(place).load(std::memory_order_seq_cst) == count
               ? reinterpret_cast<const CallReply*>(base_ + layout_.reply(place))
               : nullptr;
  }

 private:
  [[nodiscard]] std::atomic_ref<uint32_t> word(uint32_t place) const {
    return arch::word32(base_ + layout_.reply(place));
  }

  const Layout& layout_;
  std::byte* const base_;
  const std::unique_ptr<std::atomic<bool>[]> used_;
  std::atomic<uint32_t> next_{0};
};

}  // namespace ompl::calls
