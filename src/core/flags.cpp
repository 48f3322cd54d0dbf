// SPDX-License-Identifier: BSD-3-Clause
// Signals at their target: applied by a CPU of the target's node, then the sleepers are looked for.
#include <unistd.h>

#include "arch/futex.hpp"
#include "core/network.hpp"
#include "core/runtime.hpp"
#include "util/status.hpp"

namespace ompl {

void Runtime::wake_sleepers(uint32_t rank, std::byte* base, uint64_t flag) {
  SegmentHeader& header = header_of(base);
  Bucket& bucket = bucket_of(header, flag);
  if (bucket.sleepers.load(std::memory_order_seq_cst) != 0) wake(rank, header, bucket);
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
  if (fd >= 0) [[maybe_unused]]
    const ssize_t written = ::write(fd, "", 1);
}

void Runtime::wake_own_completions() {
  SegmentHeader& header = segment_.header();
  if (header.any.sleepers.load(std::memory_order_seq_cst) != 0) wake(rank_, header, header.any);
}

// Applies a record that came over the network. Outside bytes: everything is checked.
void Runtime::apply(const Signal& record, Extent& last) {
  const bool wide = record.op == SignalOp::add64 || record.op == SignalOp::set64;
  const std::size_t size = wide ? sizeof(uint64_t) : sizeof(uint32_t);
  const uint64_t offset = record.offset;
  const bool layers_own = offset >= barrier_flag(0) && offset <= kShortageFlag + sizeof(uint32_t);
  const auto known = [&] {
    return last.covers(offset, size, allocations_.generation().load(std::memory_order_acquire));
  };
  if (offset % size != 0 ||
      (!layers_own && !known() && (!allocations_.find(offset, &last) || !known()))) {
    log::warn("dropped a signal from outside to offset {:#x}: no flag can be there", offset);
    return;
  }
  std::byte* word = segment_.base() + offset;
  switch (record.op) {
    case SignalOp::add32:
      arch::word32(word).fetch_add(static_cast<uint32_t>(record.value), std::memory_order_seq_cst);
      break;
    case SignalOp::set32:
      arch::word32(word).store(static_cast<uint32_t>(record.value), std::memory_order_seq_cst);
      break;
    case SignalOp::add64:
      arch::word64(word).fetch_add(record.value, std::memory_order_seq_cst);
      break;
    case SignalOp::set64:
      arch::word64(word).store(record.value, std::memory_order_seq_cst);
      break;
    default:
      log::warn("dropped a record of unknown operation {}", static_cast<int>(record.op));
      return;
  }
  wake_if_asleep(rank_, segment_.base(), offset);
}

}  // namespace ompl
