// SPDX-License-Identifier: BSD-3-Clause
// What all ranks do together: barrier, alloc, free. Protocol rules 5, 20.
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/status.hpp"

namespace ompl {

// Dissemination barrier (Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", 1988): in
// round k rank r signals r + 2^k and waits for r - 2^k; ceil(log2 n) rounds. The flags count, so a rank that
// runs ahead into the next barrier does no harm.
int Runtime::run_barrier(Context& c, Deadline deadline) {
  if (barrier_round_ == 0 && !barrier_signalled_) {
    if (const int code = quiet(c, deadline); code != OMPL_OK) return code;
  }
  for (; (uint64_t{1} << barrier_round_) < size_; ++barrier_round_, barrier_signalled_ = false) {
    const uint64_t flag = barrier_flag(barrier_round_);
    const auto to = static_cast<uint32_t>((rank_ + (uint64_t{1} << barrier_round_)) % size_);
    if (!barrier_signalled_) {
      if (const int code = signal_any(c, to, {.offset = flag}, deadline); code != OMPL_OK) return code;
      barrier_signalled_ = true;
    }
    if (const int code = wait_flag(c, flag, Call::barrier, kNoRank, deadline); code != OMPL_OK)
      return code;
  }
  barrier_open_ = false;
  return OMPL_OK;
}

// Goes on with the one that timed out, if any.
int Runtime::barrier(Context& c, Deadline deadline) {
  if (!barrier_open_) {
    barrier_open_ = true;
    barrier_round_ = 0;
    barrier_signalled_ = false;
  }
  return run_barrier(c, deadline);
}

// The barrier of another collective call.
int Runtime::meet_all_ranks(Context& c) {
  if (barrier_open_) {
    if (const int code = barrier(c); code != OMPL_OK) return code;
  }
  return barrier(c);
}

int Runtime::alloc(Context& c, std::size_t size, uint64_t* offset) {
  if (size == 0 || offset == nullptr) {
    return fail(OMPL_ERR_ARG, "ompl_alloc: {}",
                size == 0 ? "the size is 0" : "the result pointer is null");
  }
  const uint64_t begin = allocator_.allocate(size);
  int code =
      begin != 0
          ? commit(begin, size)
          : fail(OMPL_ERR_MEMORY,
                 "ompl_alloc: no room for {} bytes in the segment of {}; raise OMPL_SEGMENT_SIZE", size,
                 segment_.capacity());
  // Known here before any other rank can use it: the barrier below lets them.
  if (code == OMPL_OK && !allocations_.insert(begin, size)) {
    revoke(begin, size, conduits_.size());
    code = fail(OMPL_ERR_MEMORY, "ompl_alloc: too many allocations");
  }

  // A rank that is short tells all before the barrier. Two flags in turn: a quick rank may already tell of
  // the next allocation while a slow one still looks at this one's.
  const uint64_t shortage = kShortageFlag + sizeof(uint32_t) * (allocation_count_++ % 2);
  for (uint32_t rank = 0; rank < size_ && code != OMPL_OK; ++rank) {
    const int told = signal_any(c, rank, {.offset = shortage}, Deadline::never());
    if (told != OMPL_OK) return told;
  }
  if (const int met = meet_all_ranks(c); met != OMPL_OK) return met;
  const uint32_t short_ranks = arch::word32(segment_.base() + shortage).exchange(0);
  if (short_ranks == 0) {
    *offset = begin;
    return OMPL_OK;
  }
  if (code == OMPL_OK) revoke(begin, size, conduits_.size());
  allocations_.erase(begin);
  if (begin != 0) allocator_.free(begin, size);
  if (code != OMPL_OK) return code;
  return fail(OMPL_ERR_MEMORY, "ompl_alloc: {} other rank(s) are short of memory", short_ranks);
}

int Runtime::commit(uint64_t begin, std::size_t size) {
  if (const int code = segment_.commit(begin, size); code != OMPL_OK) return code;
  for (std::size_t done = 0; done < conduits_.size(); ++done) {
    if (const int code = conduits_[done]->commit(begin, size); code != OMPL_OK) {
      revoke(begin, size, done);
      return code;
    }
  }
  return OMPL_OK;
}

// Of the first `count` conduits.
void Runtime::revoke(uint64_t begin, std::size_t size, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) conduits_[i]->release(begin, size);
}

int Runtime::free(Context& c, uint64_t offset) {
  Extent found;
  if (!allocations_.find(offset, &found) || found.begin != offset) {
    return fail(OMPL_ERR_OFFSET,
                "ompl_free: {:#x} is not what an ompl_alloc returned, or was freed before", offset);
  }
  if (const int code = quiet_all(c); code != OMPL_OK) return code;
  if (const int code = meet_all_ranks(c); code != OMPL_OK) return code;
  allocations_.erase(offset);
  close_windows();
  revoke(offset, found.length, conduits_.size());
  allocator_.free(offset, found.length);
  return OMPL_OK;
}

}  // namespace ompl
