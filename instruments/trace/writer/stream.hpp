// SPDX-License-Identifier: BSD-3-Clause
// The records of one thread, or the definitions: appended in place, readable after each.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "file.hpp"
#include "format.hpp"

namespace ompl::trace {

class Stream {
 public:
  // Trivial, to lie in memory that is all zero; open() makes it one. Only settle() and record_tracer() record time of
  // the tracer's own.
  void open(File& file, uint32_t number);
  void close();

  template <typename AnyRecord>
  void append(const AnyRecord& record) {
    static_assert(sizeof record == sizeof(Record));
    if (idle_.kind != Kind{}) end_idling();
    if (next_ == limit_ && !next_block()) return file_->count_lost();
    if constexpr (std::is_same_v<AnyRecord, Record>) end_ = record.end;
    uint64_t words[6];
    std::memcpy(words, &record, sizeof words);
    std::memcpy(next_++, words, sizeof words);
    sum_ = add_to_sum(sum_, words);
    Published& slot = block_->published[++used_ & 1];
    std::atomic_ref(slot.sum).store(sum_, std::memory_order_release);
    std::atomic_ref(slot.used).store(used_, std::memory_order_release);
  }

  // A test or probe that found nothing. Those that follow each other at once, from up to kLooks call sites in turn,
  // become one record when the loop is over: a program that looks again and again would else fill its disk. The first
  // of each site stands by itself, so that a program that is ended in a loop shows it.
  void append_idle(const Record& record);

  // Notes that the tracer itself took the time from `begin` ticks until now.
  void record_tracer(uint64_t begin);

  // No record may begin before it; in ns.
  [[nodiscard]] uint64_t end() const { return std::max(end_, idle_.end); }

  // After a call and all that belongs to it: makes room for the next, and records the time if that took any.
  void settle() {
    if (next_ == limit_) settle_slowly();
  }

 private:
  static constexpr uint64_t kAtOnceNs = 1000;
  static constexpr uint32_t kLooks = 16;

  bool is_looked_at(const Record& record) const;

  bool next_block();
  void settle_slowly();
  void end_idling();

  Record* next_;
  Record* limit_;
  BlockHeader* block_;
  uint64_t used_;
  uint64_t sum_;
  // Of the last append_idle(), no other record since; several of them if it is kRepeated.
  Record idle_;
  uint32_t looks_[kLooks];  // the call sites of the loop that it belongs to
  uint32_t look_count_;
  uint64_t end_;  // of the last record that is a call
  File* file_;
  uint32_t number_;
};

}  // namespace ompl::trace
