// SPDX-License-Identifier: BSD-3-Clause
// The part of GlobalMemory that takes in memory of the program, which then is a second mapping of the segment's pages.
#include "arch/memory/adoption.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "arch/cancellation.hpp"
#include "arch/memory/device_memory.hpp"
#include "arch/system_call.hpp"
#include "core/memory/global_memory.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

bool is_whole_pages(const void* address, std::size_t length) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  return begin != 0 && length != 0 && begin % page_size() == 0 && length % page_size() == 0 &&
         length <= UINTPTR_MAX - begin;
}

}  // namespace

int GlobalMemory::check_adoptable(const void* address, std::size_t length, const char* what) {
  if (!is_whole_pages(address, length))
    return fail(OMPL_ERR_ARG, "{}: {} bytes at {} are not whole pages of {} bytes", what, length,
                address, page_size());
  if (arch::is_device_memory(address))
    return fail(OMPL_ERR_UNSUPPORTED, "{}: {} is memory of a GPU", what, address);
  if (!arch::is_private_memory(address, length)) {
    return fail(OMPL_ERR_ARG,
                "{}: not all of the {} bytes at {} are private memory that may be written; shared and "
                "adopted memory cannot be adopted",
                what, length, address);
  }
  return OMPL_OK;
}

// For those who ask beforehand: what cannot be remapped is unsupported, whatever the reason.
int GlobalMemory::can_adopt(const void* address, std::size_t length) {
  const int code = check_adoptable(address, length, "ompl_can_adopt");
  return code == OMPL_ERR_ARG && is_whole_pages(address, length) ? int{OMPL_ERR_UNSUPPORTED} : code;
}

// Maps the allocation that begins at `offset` in the program's memory. With the mutex held.
int GlobalMemory::take_in(const Adopted& adopted, const char* what) {
  try {
    adopted_.push_back(adopted);
  } catch (const std::bad_alloc&) {
    return fail(OMPL_ERR_MEMORY, "{}: out of memory", what);
  }
  const bool shared =
      arch::share_memory(adopted.address, adopted.length, segment_.base() + adopted.offset,
                         segment_.fd(), segment_.file_offset() + adopted.offset);
  if (shared) return OMPL_OK;
  adopted_.pop_back();
  return fail(OMPL_ERR_MEMORY, "{}: cannot map {} bytes at {} anew: {}", what, adopted.length,
              static_cast<void*>(adopted.address), error_text(errno));
}

// Memory of all ranks at the same offset, which is a multiple of a page: a little more is taken for that.
int GlobalMemory::adopt(void* address, std::size_t length, uint64_t* offset) {
  const arch::Uncancelled whole;
  const std::size_t page = page_size();
  uint64_t taken = 0;
  int code = check_adoptable(address, length, "ompl_adopt");
  if (code == OMPL_OK) code = allocate(length + page, &taken);
  if (code != OMPL_OK) return code;
  {
    const std::lock_guard lock(mutex_);
    const Adopted adopted{.offset = (taken + page - 1) / page * page,
                          .length = length,
                          .address = static_cast<std::byte*>(address),
                          .taken = taken,
                          .taken_size = length + page};
    code = take_in(adopted, "ompl_adopt");
    if (code == OMPL_OK) {
      allocations_.erase(taken);
      allocations_.insert(adopted.offset, length);  // there is room for one again
      *offset = adopted.offset;
      return OMPL_OK;
    }
  }
  withdraw(taken);
  release(taken, length + page);
  return code;
}

int GlobalMemory::adopt_local(void* address, std::size_t length, uint64_t* offset) {
  if (offset == nullptr) return fail(OMPL_ERR_ARG, "ompl_adopt_local: the result pointer is null");
  const arch::Uncancelled whole;
  const std::lock_guard lock(mutex_);
  if (const int code = check_adoptable(address, length, "ompl_adopt_local"); code != OMPL_OK)
    return code;
  accept_local();
  Area* area = nullptr;
  int code = take_area(AreaKind::adopted, length, UINT64_MAX, &area);
  if (code != OMPL_OK) return code;
  const Adopted adopted{.offset = area->begin,
                        .length = length,
                        .address = static_cast<std::byte*>(address),
                        .taken = area->begin,
                        .taken_size = 0};
  if (!allocations_.insert(area->begin, length))
    code = fail(OMPL_ERR_MEMORY, "ompl_adopt_local: too many allocations");
  if (code == OMPL_OK) {
    code = take_in(adopted, "ompl_adopt_local");
    if (code != OMPL_OK) allocations_.erase(area->begin);
  }
  if (code != OMPL_OK) {
    drop_area(*area);
    return code;
  }
  *offset = adopted.offset;
  return OMPL_OK;
}

GlobalMemory::Adopted* GlobalMemory::adopted_at(uint64_t offset) {
  const auto found = std::ranges::find(adopted_, offset, &Adopted::offset);
  return found == adopted_.end() ? nullptr : &*found;
}

bool GlobalMemory::is_adopted(uint64_t offset, bool symmetric) {
  const std::lock_guard lock(mutex_);
  const Adopted* const adopted = adopted_at(offset);
  return adopted != nullptr && (adopted->taken_size != 0) == symmetric && !adopted->restored;
}

int GlobalMemory::prepare_restore(uint64_t offset, const char* what) {
  const std::lock_guard lock(mutex_);
  Adopted* const adopted = adopted_at(offset);
  if (adopted == nullptr || adopted->spare != nullptr)
    return fail(OMPL_ERR_OFFSET, "{}: {:#x} is given back already", what, offset);
  adopted->spare = arch::reserve_private(adopted->length);
  if (adopted->spare != nullptr) return OMPL_OK;
  return fail(OMPL_ERR_MEMORY, "{}: no private memory of {} bytes: {}", what, adopted->length,
              error_text(errno));
}

void GlobalMemory::cancel_restore(uint64_t offset) {
  const std::lock_guard lock(mutex_);
  Adopted* const adopted = adopted_at(offset);
  if (adopted == nullptr || adopted->spare == nullptr) return;
  ::munmap(adopted->spare, adopted->length);
  adopted->spare = nullptr;
}

int GlobalMemory::restore(uint64_t offset, const char* what) {
  const std::lock_guard lock(mutex_);
  Adopted* const adopted = adopted_at(offset);
  const arch::BlockedSignals none_comes;
  allocations_.erase(offset);
  std::memcpy(adopted->spare, adopted->address, adopted->length);
  if (!arch::put_in_place(adopted->spare, adopted->length, adopted->address)) {
    allocations_.insert(offset, adopted->length);
    return fail(OMPL_ERR_SYSTEM, "{}: cannot map {} bytes at {} anew: {}", what, adopted->length,
                static_cast<void*>(adopted->address), error_text(errno));
  }
  adopted->spare = nullptr;
  adopted->restored = true;
  return OMPL_OK;
}

void GlobalMemory::release_adopted(uint64_t offset) {
  const arch::Uncancelled whole;
  const std::lock_guard lock(mutex_);
  const Adopted gone = *adopted_at(offset);
  std::erase_if(adopted_, [offset](const Adopted& adopted) { return adopted.offset == offset; });
  if (gone.taken_size == 0) return drop_area(*areas_->find(gone.taken));
  revoke(gone.taken, gone.taken_size, conduits_.size(), Segment::Side::bottom);
  allocator_.free(gone.taken, gone.taken_size);
  follow_end();
}

// At the end of the job. What gets no memory stays a mapping of the segment's file, which nobody else maps for long.
void GlobalMemory::restore_all() {
  for (const Adopted& adopted : adopted_) {
    if (adopted.restored) continue;
    const arch::BlockedSignals none_comes;
    void* const memory = arch::reserve_private(adopted.length);
    if (memory != nullptr) std::memcpy(memory, adopted.address, adopted.length);
    if (memory == nullptr || !arch::put_in_place(memory, adopted.length, adopted.address))
      log::warn("{} bytes of adopted memory at {} stay shared: {}", adopted.length,
                static_cast<void*>(adopted.address), error_text(errno));
  }
  adopted_.clear();
}

// --- A fork: the child has its own memory, as it would without adoption.

void GlobalMemory::before_fork() {
  mutex_.lock();
  for (Adopted& adopted : adopted_) {
    if (!adopted.restored) {
      adopted.copy = arch::reserve_private(adopted.length);
      if (adopted.copy != nullptr) std::memcpy(adopted.copy, adopted.address, adopted.length);
    }
  }
}

void GlobalMemory::after_fork_in_parent() {
  for (Adopted& adopted : adopted_) {
    if (adopted.copy != nullptr) ::munmap(adopted.copy, adopted.length);
    adopted.copy = nullptr;
  }
  mutex_.unlock();
}

void GlobalMemory::after_fork_in_child() {
  const arch::BlockedSignals none_comes;
  for (const Adopted& adopted : adopted_) {
    if (adopted.restored ||
        (adopted.copy != nullptr && arch::move_private(adopted.copy, adopted.length, adopted.address)))
      continue;
    // Short of memory: at least what the child writes is its own.
    ::syscall(SYS_mmap, adopted.address, adopted.length, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_FIXED, segment_.fd(),
              static_cast<off_t>(segment_.file_offset() + adopted.offset));
  }
  mutex_.unlock();
}

}  // namespace ompl
