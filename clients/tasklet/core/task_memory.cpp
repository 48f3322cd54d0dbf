// SPDX-License-Identifier: BSD-3-Clause
#include "core/task_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/task.hpp"

namespace tasklet {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSlab = 262144;

constexpr std::size_t whole(std::size_t bytes, std::size_t piece) {
  return (bytes + piece - 1) / piece * piece;
}
constexpr std::size_t kRoom = whole(sizeof(Task), alignof(Task) > 64 ? alignof(Task) : 64);

}  // namespace

void populate(void* memory, std::size_t bytes) {
#if defined(MADV_POPULATE_WRITE)
  const int error = errno;
  ::madvise(memory, bytes, MADV_POPULATE_WRITE);  // before Linux 5.14: not known
  errno = error;
#endif
}

TaskMemory::~TaskMemory() {
  while (slabs_ != nullptr) {
    Slab* const slab = slabs_;
    slabs_ = slab->next;
    std::free(slab);
  }
}

void TaskMemory::add_slab() {
  void* const memory = std::aligned_alloc(kPage, kSlab);
  if (memory == nullptr) throw std::bad_alloc();
  populate(memory, kSlab);
  slabs_ = new (memory) Slab{slabs_};
  for (std::size_t at = kSlab / kRoom - 1; at > 0; --at)  // the first one is the slab's own
    push(&free_, static_cast<char*>(memory) + at * kRoom);
}

void TaskMemory::take(Rooms* to) {
  const std::lock_guard lock(mutex_);
  if (free_.count == 0) add_slab();
  for (uint32_t left = std::min(kBatch, free_.count); left > 0; --left) push(to, pop(&free_));
}

void TaskMemory::give(Rooms* from, uint32_t left) {
  const std::lock_guard lock(mutex_);
  while (from->count > left) push(&free_, pop(from));
}

}  // namespace tasklet
