// SPDX-License-Identifier: BSD-3-Clause
// Signals at their target: applied by a CPU of the target's node, then the sleepers are looked for and woken. Protocol
// rules 15, 16.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/calls/arrivals.hpp"
#include "core/data/update.hpp"
#include "core/job/membership.hpp"

namespace ompl {

// The sleepers of this rank, and of those whose segments are mapped. Any thread.
class Sleepers {
 public:
  Sleepers(const GlobalMemory& memory, const Membership& members)
      : memory_(memory), members_(members) {}
  ~Sleepers() { close_pipe(); }
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;

  // The pipe by which others wake this rank's sentinel. One thread.
  int open_pipe();
  void close_pipe();
  [[nodiscard]] int pipe_reader() const { return pipe_[0]; }
  [[nodiscard]] int pipe_writer() const { return pipe_[1]; }
  void drain_pipe() const;
  // Of this rank.
  [[nodiscard]] std::atomic<SentinelRole>& sentinel() const { return memory_.header().sentinel; }

  // Applies a signal to a mapped rank and wakes its waiters; returns the word's value before [15].
  uint64_t raise(uint32_t rank, std::byte* base, const Signal& record) {
    const uint64_t before = update(base + record.offset, record);
    if (record.function != Function::fetch) wake_if_asleep(rank, base, record.offset);
    return before;
  }
  // Executes an update that came over the network, `*before` being the word's value before. Outside bytes: everything is
  // checked, with `last` as the allocation found last. False: there can be no such word, or no such function.
  bool apply(const Signal& record, Extent& last, uint64_t* before);

  // A flag of a rank has changed, and somebody of it sleeps.
  void wake_sleepers(uint32_t rank, uint64_t flag) { wake_sleepers(rank, memory_.bases()[rank], flag); }
  void wake(uint32_t rank, SegmentHeader& header, Bucket& bucket);
  // Those of this rank who wait for several flags, or for completions.
  void wake_own_completions();
  void poke_sentinel(uint32_t rank);
  // One bucket's, wherever they wait: somebody of a mapped rank is to run a call that has come in. After a full barrier.
  void wake_any(uint32_t rank) {
    const SegmentHeader& header = memory_.header(rank);
    if (header.sleepers.load(std::memory_order_seq_cst) != 0 ||
        header.progress.sleepers.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake_some_bucket(rank);
  }
  // The first bucket that has sleepers, the progress thread's last.
  void wake_some_bucket(uint32_t rank);

  // Which rings of remote calls have got something.
  calls::Arrivals call_arrivals;

 private:
  // The producer's side of protocol rule 15: the add and the looks are sequentially consistent. The first look is
  // at the number of all the rank's sleepers; only if there are any, at the flag's bucket.
  void wake_if_asleep(uint32_t rank, std::byte* base, uint64_t flag) {
    if (header_of(base).sleepers.load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake_sleepers(rank, base, flag);
  }
  void wake_sleepers(uint32_t rank, std::byte* base, uint64_t flag);

  const GlobalMemory& memory_;
  const Membership& members_;
  int pipe_[2] = {-1, -1};
};

}  // namespace ompl
