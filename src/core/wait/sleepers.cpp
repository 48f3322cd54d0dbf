// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait/sleepers.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "arch/futex.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl {

int Sleepers::open_pipe() {
  if (::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) == 0) return OMPL_OK;
  return fail(OMPL_ERR_SYSTEM, "cannot make a pipe: {}", call_text("pipe2", errno));
}

void Sleepers::close_pipe() {
  for (int& fd : pipe_) {
    if (fd >= 0) ::close(std::exchange(fd, -1));
  }
}

void Sleepers::drain_pipe() const {
  std::array<char, 256> bytes{};
  [[maybe_unused]] const ssize_t drained = ::read(pipe_reader(), bytes.data(), bytes.size());
}

void Sleepers::wake_sleepers(uint32_t rank, std::byte* base, uint64_t flag) {
  SegmentHeader& header = header_of(base);
  Bucket& bucket = bucket_of(header, flag);
  if (bucket.sleepers.load(std::memory_order_seq_cst) != 0) wake(rank, header, bucket);
  if (header.marks.watches.load(std::memory_order_seq_cst) != 0) leave_mark(header.marks, flag);
  if (header.any.sleepers.load(std::memory_order_seq_cst) != 0) wake(rank, header, header.any);
}

void Sleepers::wake(uint32_t rank, SegmentHeader& header, Bucket& bucket) {
  bucket.events.fetch_add(1, std::memory_order_seq_cst);
  arch::futex_wake_all(reinterpret_cast<const uint32_t*>(&bucket.events));
  if (header.sentinel.load(std::memory_order_seq_cst) != SentinelRole::none) poke_sentinel(rank);
}

void Sleepers::poke_sentinel(uint32_t rank) {
  const int fd = rank == members_.rank() ? pipe_writer() : members_.peer(rank).wake_fd;
  // A full pipe wakes just as well. Without a descriptor the sentinel sees it at the end of its slice.
  // By syscall(), which unlike write() is no cancellation point: the quick puts and signals come here too.
  if (fd >= 0) static_cast<void>(::syscall(SYS_write, fd, "", std::size_t{1}));
}

void Sleepers::wake_some_bucket(uint32_t rank) {
  SegmentHeader& header = memory_.header(rank);
  if (header.any.sleepers.load(std::memory_order_seq_cst) != 0) return wake(rank, header, header.any);
  for (Bucket& bucket : header.buckets) {
    if (bucket.sleepers.load(std::memory_order_seq_cst) != 0) return wake(rank, header, bucket);
  }
  if (header.progress.sleepers.load(std::memory_order_seq_cst) != 0)
    wake(rank, header, header.progress);
}

void Sleepers::wake_own_completions() {
  SegmentHeader& header = memory_.header();
  if (header.any.sleepers.load(std::memory_order_seq_cst) != 0)
    wake(members_.rank(), header, header.any);
}

bool Sleepers::apply(const Signal& record, Extent& last, uint64_t* before) {
  const std::size_t size = width_of(record);
  const uint64_t offset = record.offset;
  const bool layers_own = offset >= barrier_flag(0) && offset < kLayersEnd;
  if (!is_update(record.op) || record.function > conduit::kLastFunction || offset % size != 0 ||
      (!layers_own && !memory_.allocations().holds(offset, size, &last))) {
    log::warn("dropped a record from outside: operation {}, function {}, offset {:#x}",
              static_cast<int>(record.op), static_cast<int>(record.function), offset);
    return false;
  }
  std::byte* const base = memory_.segment().base();
  *before = update(base + offset, record);
  call_arrivals.note(offset);
  if (record.function != Function::fetch) wake_if_asleep(members_.rank(), base, offset);
  return true;
}

}  // namespace ompl
