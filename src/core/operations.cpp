// SPDX-License-Identifier: BSD-3-Clause
// The operations behind their inline fast paths: full checks, then the mapped or the network way.
#include "core/block.hpp"
#include "core/runtime.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

int check_rank(const Context& c, uint32_t rank, const char* what) {
  if (rank < c.ranks) return OMPL_OK;
  return fail(OMPL_ERR_RANK, "{}: rank {} does not exist; the job has ranks 0 to {}", what, rank,
              c.ranks - 1);
}

int outside(const char* what, uint64_t offset) {
  return fail(OMPL_ERR_OFFSET, "{}: offset {:#x} is not allocated; use what ompl_alloc returned", what,
              offset);
}

}  // namespace

int Runtime::check_data(Context& c, uint32_t rank, uint64_t offset, std::size_t length,
                        const char* what) {
  if (const int code = check_rank(c, rank, what); code != OMPL_OK) return code;
  if (length == 0 || c.data.covers(offset, length, c.generation->load(std::memory_order_relaxed)))
    return OMPL_OK;
  Extent found;
  if (!allocations_.find(offset, &found)) return outside(what, offset);
  if (!found.covers(offset, length, found.generation)) {
    return fail(OMPL_ERR_LENGTH,
                "{}: {} bytes at offset {:#x} leave the allocation of {} bytes at {:#x}", what, length,
                offset, found.length, found.begin);
  }
  c.data = found;
  return OMPL_OK;
}

int Runtime::check_flag(Context& c, uint32_t rank, uint64_t flag, const char* what) {
  if (const int code = check_rank(c, rank, what); code != OMPL_OK) return code;
  if (knows_flag(c, flag)) return OMPL_OK;
  if (flag % sizeof(uint32_t) != 0) {
    return fail(OMPL_ERR_ALIGN, "{}: flag offset {:#x} is not a multiple of 4", what, flag);
  }
  Extent found;
  if (!allocations_.find(flag, &found)) return outside(what, flag);
  if (!found.covers(flag, sizeof(uint32_t), found.generation)) {
    return fail(OMPL_ERR_LENGTH, "{}: the flag at {:#x} leaves the allocation of {} bytes at {:#x}",
                what, flag, found.length, found.begin);
  }
  c.flag = found;
  return OMPL_OK;
}

int Runtime::put(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                 Deadline deadline) {
  const int code = check_data(c, rank, offset, length, "ompl_put");
  if (code != OMPL_OK || length == 0) return code;
  if (length > OMPL_WINDOW_BULK) c.bulky = true;
  std::byte* base = c.bases[rank];
  if (base == nullptr) return network_->put(c, source, rank, offset, length, deadline);
  if (c.windows != nullptr) move_window(&c.windows->data, rank, c.data.begin, c.data.length, base);
  arch::copy(base + offset, source, length);
  return OMPL_OK;
}

int Runtime::get(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
                 Deadline deadline) {
  const int code = check_data(c, rank, offset, length, "ompl_get");
  if (code != OMPL_OK || length == 0) return code;
  std::byte* base = c.bases[rank];
  if (base == nullptr) return network_->get(c, target, rank, offset, length, deadline);
  if (c.windows != nullptr) move_window(&c.windows->data, rank, c.data.begin, c.data.length, base);
  arch::copy(target, base + offset, length);
  return OMPL_OK;
}

int Runtime::signal(Context& c, uint32_t rank, uint64_t flag, Deadline deadline) {
  if (const int code = check_flag(c, rank, flag, "ompl_put_word"); code != OMPL_OK) return code;
  std::byte* base = c.bases[rank];
  if (base != nullptr && c.windows != nullptr) {
    // Whole flags only: then every aligned offset inside is a flag.
    move_window(&c.windows->flag, rank, c.flag.begin,
                c.flag.length / sizeof(uint32_t) * sizeof(uint32_t), base);
  }
  return signal_any(c, rank, flag, deadline);
}

// Also for the layer's own flags, which no user's check lets through.
int Runtime::signal_any(Context& c, uint32_t rank, uint64_t flag, Deadline deadline) {
  if (std::byte* base = bases_[rank]; base != nullptr) {
    raise(rank, base, flag);
    return OMPL_OK;
  }
  return network_->signal(c, rank, Signal{.offset = flag}, deadline);
}

int Runtime::put_signal(Context& c, const void* source, uint32_t rank, uint64_t offset,
                        std::size_t length, uint64_t flag, Deadline deadline) {
  // Both addresses are checked before anything is written.
  if (const int code = check_data(c, rank, offset, length, "ompl_put_signal"); code != OMPL_OK)
    return code;
  if (const int code = check_flag(c, rank, flag, "ompl_put_signal"); code != OMPL_OK) return code;
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    arch::copy(base + offset, source, length);
    raise(rank, base, flag);
    return OMPL_OK;
  }
  if (length == 0) return network_->signal(c, rank, Signal{.offset = flag}, deadline);
  return network_->put_signal(c, source, rank, offset, length, Signal{.offset = flag}, deadline);
}

int Runtime::wait(Context& c, uint64_t flag, Deadline deadline) {
  if (const int code = check_flag(c, rank_, flag, "ompl_wait"); code != OMPL_OK) return code;
  return wait_flag(c, flag, Call::wait, kNoRank, deadline);
}

// Also for the layer's own flags.
int Runtime::wait_flag(Context& c, uint64_t flag, Call call, uint32_t peer, Deadline deadline) {
  std::byte* word = segment_.base() + flag;
  const Blocked what{
      .call = call, .peer = peer, .offset = flag, .bucket = &bucket_of(segment_.header(), flag)};
  return Blocker(*this, c, what, deadline).run([word] { return take(word) ? 1 : 0; });
}

int Runtime::poll(Context& c, uint64_t flag) {
  if (const int code = check_flag(c, rank_, flag, "ompl_poll"); code != OMPL_OK) return code;
  const auto word = arch::word32(segment_.base() + flag);
  if (word.load(std::memory_order_acquire) != 0) return 1;
  if (network_ != nullptr && network_->progress(c) && word.load(std::memory_order_acquire) != 0)
    return 1;
  return 0;
}

// Puts and signals to mapped ranks are stores and atomics of the calling thread: whoever is told of them by
// anything that synchronises sees them, so there is nothing to complete.
int Runtime::flush(Context& c, Deadline deadline) {
  return network_ != nullptr ? network_->flush(c, deadline) : OMPL_OK;
}

int Runtime::quiet(Context& c, Deadline deadline) {
  return network_ != nullptr ? network_->quiet(c, deadline) : OMPL_OK;
}

void* Runtime::pointer(uint32_t rank, uint64_t offset) const {
  Extent found;
  if (rank >= size_ || bases_[rank] == nullptr || !allocations_.find(offset, &found)) return nullptr;
  return bases_[rank] + offset;
}

void Runtime::set_yield(YieldHook hook, void* argument) {
  yield_argument_ = argument;
  yield_hook_ = hook;
}

}  // namespace ompl
