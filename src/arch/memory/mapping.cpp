// SPDX-License-Identifier: BSD-3-Clause
#include "arch/memory/mapping.hpp"

#include <sys/mman.h>

namespace ompl::arch {
namespace {

constexpr std::size_t kStep = std::size_t{2} << 20;  // so that huge pages fit
constexpr std::size_t kPeriod = 128 * kStep;

std::byte* map(void* where, std::size_t length, int fd, uint64_t offset, int flags) {
  void* mapped = ::mmap(where, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | flags, fd,
                        static_cast<off_t>(offset));
  if (mapped != MAP_FAILED) ::madvise(mapped, length, MADV_DONTDUMP);
  return static_cast<std::byte*>(mapped);
}

}  // namespace

void* map_segment(int fd, std::size_t length, uint32_t place, uint64_t offset) {
  // Address space with room for every place; what is not needed is given back.
  const std::size_t room = length + kPeriod;
  void* reserved = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return map(nullptr, length, fd, offset, 0);
  auto* begin = static_cast<std::byte*>(reserved);
  const auto address = reinterpret_cast<uintptr_t>(begin);
  const std::size_t ahead = (place * kStep - address) % kPeriod;
  ::munmap(begin, ahead);
  ::munmap(begin + ahead + length, room - ahead - length);
  return map(begin + ahead, length, fd, offset, MAP_FIXED);
}

std::size_t segment_stride(std::size_t capacity) {
  return (capacity + kPeriod - 1) / kPeriod * kPeriod + kStep;
}

}  // namespace ompl::arch
