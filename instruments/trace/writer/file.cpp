// SPDX-License-Identifier: BSD-3-Clause
#include "file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

namespace ompl::trace {

namespace {

bool write_all(int file, uint64_t offset, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const ssize_t done = pwrite(file, at, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    offset += static_cast<uint64_t>(done);
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

// Zeroes written, and not only a longer file: a full disk is then an error here and no signal later, and pages that
// come by write() cost a third of those that come by faults.
bool reserve(int file, uint64_t offset, std::size_t bytes) {
  static const char kZeroes[kBlockBytes]{};
  return write_all(file, offset, kZeroes, bytes);
}

constexpr uint64_t offset_of(uint64_t index) { return kHeaderBytes + index * kBlockBytes; }

void* map(int file, uint64_t offset, std::size_t bytes) {
  void* const at =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
  return at == MAP_FAILED ? nullptr : at;
}

// Or each page's first record is a fault, on ext4 of 3 us (MAP_POPULATE makes shared pages readable alone). Linux before 5.14
// cannot.
void* map_writable(int file, uint64_t offset, std::size_t bytes) {
  void* const at = map(file, offset, bytes);
  if (at != nullptr) madvise(at, bytes, MADV_POPULATE_WRITE);
  return at;
}

}  // namespace

bool File::create(const char* folder, const FileHeader& header, const Clock& clock) {
  char path[PATH_MAX];
  const int length = std::snprintf(path, sizeof path, "%s/rank.%06u.omplt", folder, header.rank);
  const bool fits = length > 0 && static_cast<std::size_t>(length) < sizeof path;
  if (!fits) errno = ENAMETOOLONG;
  file_ = fits ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
  if (file_ >= 0 && ftruncate(file_, kHeaderBytes) == 0 && reserve(file_, 0, sizeof header)) {
    header_ = static_cast<FileHeader*>(map(file_, 0, sizeof header));
  }
  if (header_ == nullptr) {
    std::fprintf(stderr, "ompl trace: %s cannot be written: %s; nothing is recorded\n", path,
                 std::strerror(errno));
    return false;
  }
  std::memcpy(header_, &header, sizeof header);
  clock_ = &clock;
  return true;
}

BlockHeader* File::add_block(uint32_t stream) {
  if (full_) return nullptr;
  const uint64_t index = next_block_.fetch_add(1);
  const uint64_t offset = offset_of(index);
  auto* const block = reserve(file_, offset, kBlockBytes)
                          ? static_cast<BlockHeader*>(map_writable(file_, offset, kBlockBytes))
                          : nullptr;
  if (block == nullptr) {
    say_full();
    return nullptr;
  }
  block->stream = stream;
  block->reused = 1;
  begin(*block);
  std::atomic_ref(block->magic).store(kBlockMagic, std::memory_order_release);
  count(index);
  return block;
}

bool File::keep(BlockHeader* block) {
  if (full_) return false;
  const uint64_t index = next_block_.fetch_add(1);
  const uint64_t offset = offset_of(index);
  BlockHeader header = *block;
  header.reused = 0;
  // The header last: without one a block is empty.
  if (!write_all(file_, offset + sizeof header, block + 1, kBlockBytes - sizeof header) ||
      !write_all(file_, offset, &header, sizeof header)) {
    say_full();
    return false;
  }
  count(index);
  // Until the number changes the block is the copied one, whole or a part of it: readers pass it over. What is published
  // is right after each store, since published[0] is that of a full block.
  for (Published& slot : block->published) {
    std::atomic_ref(slot.used).store(0, std::memory_order_release);
    std::atomic_ref(slot.sum).store(0, std::memory_order_release);
  }
  begin(*block);
  std::atomic_ref(block->sequence).store(header.sequence + 1, std::memory_order_release);
  return true;
}

void File::begin(BlockHeader& block) const {
  const Clock::Pair now = clock_->pair();
  block.local = clock_->ns(now.ticks);
  block.host = now.ns;
}

// When the block is there: who dies before this leaves a file that is longer than it need be, and never one that seems cut.
void File::count(uint64_t index) {
  const std::atomic_ref blocks(header_->blocks);
  for (uint64_t known = blocks; known <= index && !blocks.compare_exchange_weak(known, index + 1);) {
  }
}

void File::say_full() {
  if (full_.exchange(true)) return;
  std::fprintf(stderr, "ompl trace: rank %u: no room for more of the trace: %s; the rest is lost\n",
               header_->rank, std::strerror(errno));
}

void File::release(BlockHeader* block) { munmap(block, kBlockBytes); }

}  // namespace ompl::trace
