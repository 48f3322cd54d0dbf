// SPDX-License-Identifier: BSD-3-Clause
#include "arch/memory/adoption.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "arch/system_call.hpp"

namespace ompl::arch {

// The mappings of /proc/self/maps are sorted by their addresses.
bool is_private_memory(const void* address, std::size_t length) {
  auto at = reinterpret_cast<uintptr_t>(address);
  const uintptr_t end = at + length;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; at < end && std::getline(maps, line);) {
    unsigned long from = 0;
    unsigned long to = 0;
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, rights) != 3 || to <= at) continue;
    if (from > at || std::strncmp(rights, "rw", 2) != 0 || rights[3] != 'p') return false;
    at = to;
  }
  return at >= end;
}

void* reserve_private(std::size_t length) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  void* const memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, flags, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// By the kernel's call: UCX puts a function of its own in the place of mremap(), which drops the address.
bool move_private(void* memory, std::size_t length, void* address) {
  const long moved =
      ::syscall(SYS_mremap, memory, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, address);
  return moved == static_cast<long>(reinterpret_cast<intptr_t>(address));
}

// What remembers registrations of the old pages, as UCX does, hears of their end by mmap() of the C library.
bool put_in_place(void* memory, std::size_t length, void* address) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (::mmap(address, length, PROT_READ | PROT_WRITE, flags, -1, 0) != address) return false;
  if (move_private(memory, length, address)) return true;
  std::memcpy(address, memory, length);
  ::munmap(memory, length);
  return true;
}

// A fresh mapping of the file rather than a duplicate made by mremap(): it is part of core dumps, and survives a fork.
bool share_memory(void* address, std::size_t length, void* copy, int fd, uint64_t offset) {
  const BlockedSignals none_comes;
  std::memcpy(copy, address, length);
  const int flags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
  if (::mmap(address, length, PROT_READ | PROT_WRITE, flags, fd, static_cast<off_t>(offset)) == address)
    return true;
  // The kernel may have taken the old mapping away before it failed.
  const int error = errno;
  const int again = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (::mmap(address, length, PROT_READ | PROT_WRITE, again, -1, 0) == address)
    std::memcpy(address, copy, length);
  errno = error;
  return false;
}

}  // namespace ompl::arch
