// SPDX-License-Identifier: BSD-3-Clause
// The operations behind their inline fast paths: full checks, then the mapped or the network way.
#include "arch/device_memory.hpp"
#include "core/job/runtime.hpp"
#include "core/wait/block.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

constexpr uint32_t kPollsPerLook =
    256;  // a look for deaths begins with one at the clock, ten times a poll's cost

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

int Runtime::check_flag(Context& c, uint32_t rank, uint64_t flag, const char* what, std::size_t width) {
  if (const int code = check_rank(c, rank, what); code != OMPL_OK) return code;
  if (knows_flag(c, flag, width)) return OMPL_OK;
  if (flag % width != 0) {
    return fail(OMPL_ERR_ALIGN, "{}: flag offset {:#x} is not a multiple of {}", what, flag, width);
  }
  Extent found;
  if (!allocations_.find(flag, &found)) return outside(what, flag);
  if (!found.covers(flag, width, found.generation)) {
    return fail(OMPL_ERR_LENGTH, "{}: the flag at {:#x} leaves the allocation of {} bytes at {:#x}",
                what, flag, found.length, found.begin);
  }
  c.flag = found;
  return OMPL_OK;
}

// `record` null: there is nothing to check.
int Runtime::check_record(Context& c, uint32_t rank, const Signal* record, const char* what) {
  return record == nullptr ? OMPL_OK : check_flag(c, rank, record->offset, what, width_of(*record));
}

int Runtime::check_update(Context& c, uint32_t rank, const Signal& record, const void* before,
                          const char* what) {
  const bool fetches = record.function == Function::fetch || record.function == Function::compare_swap;
  if (fetches && before == nullptr) {
    return fail(OMPL_ERR_ARG, "{}: a fetch and a compare-swap need a place for the value before", what);
  }
  return check_flag(c, rank, record.offset, what, width_of(record));
}

// Memory of a GPU would crash the copy, or the network. One block of memory is never of both kinds.
int Runtime::check_local(Context& c, const void* address, const char* what) {
  if (!gpus_.load(std::memory_order_relaxed)) return OMPL_OK;
  const uint64_t block = reinterpret_cast<uintptr_t>(address) / arch::kDeviceBlock;
  if (block == c.host_block) return OMPL_OK;
  if (arch::is_device_memory(address)) {
    return fail(OMPL_ERR_UNSUPPORTED,
                "{}: {} is memory of a GPU; copy to host memory first, or allocate it managed", what,
                address);
  }
  c.host_block = block;
  return OMPL_OK;
}

// Both addresses are checked before anything is written.
int Runtime::check_transfer(Context& c, const void* local, uint32_t rank, uint64_t offset,
                            std::size_t length, const Signal* record, const char* what) {
  if (const int code = check_data(c, rank, offset, length, what); code != OMPL_OK) return code;
  if (const int code = check_record(c, rank, record, what); code != OMPL_OK) return code;
  return length == 0 ? OMPL_OK : check_local(c, local, what);
}

void Runtime::count_put(Context& c, std::size_t length, const Signal* record) {
  ++c.statistics.puts;
  c.statistics.put_bytes += length;
  if (record != nullptr) ++c.statistics.signals;
}

void Runtime::count_get(Context& c, std::size_t length) {
  ++c.statistics.gets;
  c.statistics.get_bytes += length;
}

// The next operation on that allocation of that rank, which is mapped, need not come here.
void Runtime::open_data_window(Context& c, uint32_t rank) {
  if (c.windows == nullptr || !c.direct) return;
  move_window(&c.windows->data, rank, c.data.begin, c.data.length, c.bases[rank]);
}

// Whole flags only: then every aligned offset inside is a flag.
void Runtime::open_flag_window(Context& c, uint32_t rank) {
  if (c.windows == nullptr || !c.direct) return;
  const uint64_t whole = c.flag.length / sizeof(uint32_t) * sizeof(uint32_t);
  move_window(&c.windows->flag, rank, c.flag.begin, whole, c.bases[rank]);
}

void Runtime::put_mapped(Context& c, std::byte* base, const void* source, uint32_t rank,
                         uint64_t offset, std::size_t length) {
  if (length == 0) return;
  if (length > OMPL_WINDOW_BULK) c.bulky = true;
  open_data_window(c, rank);
  arch::copy(base + offset, source, length);
}

void Runtime::get_mapped(Context& c, const std::byte* base, void* target, uint32_t rank,
                         uint64_t offset, std::size_t length) {
  if (length == 0) return;
  open_data_window(c, rank);
  arch::copy(target, base + offset, length);
}

int Runtime::put(Context& c, const void* source, uint32_t rank, uint64_t offset, std::size_t length,
                 Deadline deadline) {
  Caller caller(c);
  int code = check_transfer(c, source, rank, offset, length, nullptr, "ompl_put");
  if (code != OMPL_OK) return code;
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    put_mapped(c, base, source, rank, offset, length);
  } else if (length > 0) {
    code = network_->sender.put(c, source, rank, offset, length, deadline);
  }
  if (code >= OMPL_OK) count_put(caller.now(), length, nullptr);
  return code;
}

int Runtime::get(Context& c, void* target, uint32_t rank, uint64_t offset, std::size_t length,
                 Deadline deadline) {
  Caller caller(c);
  int code = check_transfer(c, target, rank, offset, length, nullptr, "ompl_get");
  if (code != OMPL_OK) return code;
  if (const std::byte* base = c.bases[rank]; base != nullptr) {
    get_mapped(c, base, target, rank, offset, length);
  } else if (length > 0) {
    code = network_->sender.get(c, target, rank, offset, length, deadline);
  }
  if (code >= OMPL_OK) count_get(caller.now(), length);
  return code;
}

int Runtime::signal(Context& c, uint32_t rank, const Signal& record, Deadline deadline) {
  if (const int code = check_record(c, rank, &record, "ompl_put_word"); code != OMPL_OK) return code;
  if (c.bases[rank] != nullptr) open_flag_window(c, rank);
  Caller caller(c);
  const int code = signal_any(c, rank, record, deadline);
  if (code == OMPL_OK) ++caller.now().statistics.signals;
  return code;
}

// Also for the layer's own flags, which no user's check lets through.
int Runtime::signal_any(Context& c, uint32_t rank, const Signal& record, Deadline deadline) {
  if (std::byte* base = bases_[rank]; base != nullptr) {
    raise(rank, base, record);
    return OMPL_OK;
  }
  return network_->sender.signal(c, rank, record, deadline);
}

int Runtime::atomic(Context& c, uint32_t rank, const Signal& record, uint64_t* before,
                    Deadline deadline) {
  Caller caller(c);
  int code = check_update(c, rank, record, before, "an atomic");
  if (code != OMPL_OK) return code;
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    open_flag_window(c, rank);
    if (before != nullptr) ompl_window_fence_before_fetch(record.function == Function::fetch);
    const uint64_t old = raise(rank, base, record);
    if (before != nullptr) *before = old;
  } else if (before != nullptr) {
    code = network_->sender.fetch(c, rank, record, before, deadline);
  } else {
    code = network_->sender.signal(c, rank, record, deadline);
  }
  if (code == OMPL_OK) ++caller.now().statistics.atomics;
  return code;
}

int Runtime::put_signal(Context& c, const void* source, uint32_t rank, uint64_t offset,
                        std::size_t length, const Signal& record, Deadline deadline) {
  Caller caller(c);
  int code = check_transfer(c, source, rank, offset, length, &record, "ompl_put_signal");
  if (code != OMPL_OK) return code;
  if (std::byte* base = c.bases[rank]; base != nullptr) {
    arch::copy(base + offset, source, length);
    raise(rank, base, record);
  } else if (length == 0) {
    code = network_->sender.signal(c, rank, record, deadline);
  } else {
    code = network_->sender.put_signal(c, source, rank, offset, length, record, deadline);
  }
  if (code >= OMPL_OK) count_put(caller.now(), length, &record);
  return code;
}

int Runtime::wait(Context& c, uint64_t flag, Deadline deadline) {
  if (const int code = check_flag(c, rank_, flag, "ompl_wait"); code != OMPL_OK) return code;
  Caller caller(c);
  const int code = wait_flag(c, flag, Call::wait, kNoRank, deadline);
  if (code == OMPL_OK) ++caller.now().statistics.waits;
  return code;
}

// Also for the layer's own flags.
int Runtime::wait_flag(Context& c, uint64_t flag, Call call, uint32_t peer, Deadline deadline) {
  std::byte* word = segment_.base() + flag;
  const Blocked what{.call = call,
                     .peer = peer,
                     .offset = flag,
                     .bucket = &bucket_of(segment_.header(), flag),
                     .flag = true,
                     .world = call == Call::barrier};
  Blocker blocker(c, what, deadline);
  const int code = blocker.run([word] { return take<uint32_t>(word) ? 1 : 0; });
  if (network_ != nullptr) network_->pool.note_arrival(blocker.context(), flag);
  return code;
}

int Runtime::poll(Context& c, uint64_t flag) {
  if (const int code = check_flag(c, rank_, flag, "ompl_poll"); code != OMPL_OK) return code;
  const auto word = arch::word32(segment_.base() + flag);
  if (word.load(std::memory_order_acquire) != 0) return 1;
  if (network_ != nullptr) {
    network_->sender.send_held(c);
    if (network_->pool.progress(c, c.arrival_slot) && word.load(std::memory_order_acquire) != 0)
      return 1;
  }
  if (++c.empty_polls % kPollsPerLook == 0) look_for_deaths();
  return hopeless() ? report_failure() : 0;
}

// Puts and signals to mapped ranks are stores and atomics of the calling thread. A thread that is told of them by anything
// that synchronises sees them. The fence makes them visible to all others too, before the caller's next load [25]. It comes
// last, since a network may deliver by stores of this thread.
int Runtime::flush(Context& c, Deadline deadline) {
  const int code = network_ != nullptr ? network_->completion.flush(c, deadline) : OMPL_OK;
  ompl_window_fence();
  return code;
}

int Runtime::quiet(Context& c, Deadline deadline) {
  const int code = network_ != nullptr ? network_->completion.quiet(c, deadline) : OMPL_OK;
  ompl_window_fence();
  return code;
}

int Runtime::quiet_all(Context& c) {
  const int code = network_ != nullptr ? network_->completion.quiet_all(c) : OMPL_OK;
  ompl_window_fence();
  return code;
}

void Runtime::drive(Context& c) {
  if (network_ == nullptr) return;
  network_->sender.send_held(c);
  network_->pool.progress(c, c.preferred_slot);
}

void* Runtime::pointer(uint32_t rank, uint64_t offset) const {
  Extent found;
  if (rank >= size_ || bases_[rank] == nullptr || !allocations_.find(offset, &found)) return nullptr;
  return bases_[rank] + offset;
}

bool Runtime::offset_of(const void* address, std::size_t length, uint64_t* offset) const {
  const uint64_t at =
      reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(segment_.base());
  Extent found;
  if (at >= segment_.capacity() || !allocations_.find(at, &found) ||
      !found.covers(at, length, found.generation))
    return false;
  *offset = at;
  return true;
}

void Runtime::set_yield(YieldHook hook, void* argument) {
  yield_argument_ = argument;
  yield_hook_ = hook;
}

}  // namespace ompl
