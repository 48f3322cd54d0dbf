// SPDX-License-Identifier: BSD-3-Clause
// Signals at their target: applied by a CPU of the target's node, then the sleepers are looked for.
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/futex.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

namespace ompl {

void Runtime::wake_sleepers(uint32_t rank, std::byte* base, uint64_t flag) {
  SegmentHeader& header = header_of(base);
  Bucket& bucket = bucket_of(header, flag);
  if (bucket.sleepers.load(std::memory_order_seq_cst) != 0) wake(rank, header, bucket);
  if (header.marks.watches.load(std::memory_order_seq_cst) != 0) leave_mark(header.marks, flag);
  if (header.any.sleepers.load(std::memory_order_seq_cst) != 0) wake(rank, header, header.any);
}

void Runtime::wake(uint32_t rank, SegmentHeader& header, Bucket& bucket) {
  bucket.events.fetch_add(1, std::memory_order_seq_cst);
  arch::futex_wake_all(reinterpret_cast<const uint32_t*>(&bucket.events));
  if (header.sentinel.load(std::memory_order_seq_cst) != 0) poke_sentinel(rank);
}

void Runtime::poke_sentinel(uint32_t rank) {
  const int fd = rank == rank_ ? wake_pipe_[1] : peers_[rank].wake_fd;
  // A full pipe wakes just as well. Without a descriptor the sentinel sees it at the end of its slice.
  // By syscall(), which unlike write() is no cancellation point: the quick puts and signals come here too.
  if (fd >= 0) static_cast<void>(::syscall(SYS_write, fd, "", std::size_t{1}));
}

void Runtime::wake_own_completions() {
  SegmentHeader& header = segment_.header();
  if (header.any.sleepers.load(std::memory_order_seq_cst) != 0) wake(rank_, header, header.any);
}

// Executes an update that came over the network, `*before` being the word's value before. Outside bytes:
// everything is checked. False: there can be no such word, or no such function.
bool Runtime::apply(const Signal& record, Extent& last, uint64_t* before) {
  const std::size_t size = width_of(record);
  const uint64_t offset = record.offset;
  const bool layers_own = offset >= barrier_flag(0) && offset < kLayersEnd;
  if (!is_update(record.op) || record.function > Function::compare_swap || offset % size != 0 ||
      (!layers_own && !allocations_.holds(offset, size, &last))) {
    log::warn("dropped a record from outside: operation {}, function {}, offset {:#x}",
              static_cast<int>(record.op), static_cast<int>(record.function), offset);
    return false;
  }
  *before = update(segment_.base() + offset, record);
  if (record.function != Function::fetch) wake_if_asleep(rank_, segment_.base(), offset);
  return true;
}

}  // namespace ompl
