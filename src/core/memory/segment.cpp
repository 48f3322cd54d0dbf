// SPDX-License-Identifier: BSD-3-Clause
#include "core/memory/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "arch/file_turn.hpp"
#include "arch/life_lock.hpp"
#include "arch/machine.hpp"
#include "arch/memory/mapping.hpp"
#include "arch/system_call.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPage = 4096;

constexpr uint64_t page_floor(uint64_t offset) { return offset / kPage * kPage; }
constexpr uint64_t page_ceil(uint64_t offset) { return page_floor(offset + kPage - 1); }
}  // namespace

void Segment::destroy() {
  if (base_ != nullptr) ::munmap(std::exchange(base_, nullptr) - place_.offset, place_.length);
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  place_ = {};
}

int Segment::create(std::size_t capacity, uint64_t nonce, bool huge_pages, const SegmentPlace& place) {
  huge_pages_ = huge_pages;
  if (capacity <= kFirstOffset) {
    return fail(OMPL_ERR_MEMORY,
                "OMPL_SEGMENT_SIZE={} leaves no room: a segment begins with {} bytes of the layer's "
                "own; set it "
                "to the bytes that the program allocates on a rank and {} more",
                capacity, kFirstOffset, kFirstOffset);
  }
  capacity_ = fresh_to_ = capacity;
  const bool shares = place.fd >= 0;
  if (const int code = shares ? create_at(place) : create_alone(); code != OMPL_OK) return code;
  if (const int code = commit(0, kFirstOffset); code != OMPL_OK) return code;
  auto* header = new (base_) SegmentHeader{};
  header->nonce = nonce;
  header->life_lock.store(arch::hold_life_lock(fd_, place_.offset) ? 1 : 0);
  if (!shares || header->life_lock.load() != 0) return OMPL_OK;
  destroy();  // others would not know whose part of the file is whose
  return OMPL_ERR_UNSUPPORTED;
}

int Segment::create_at(const SegmentPlace& place) {
  fd_ = place.fd;
  const auto before = static_cast<uint32_t>(place.offset / arch::segment_stride(capacity_));
  void* const mapped = arch::map_segment(fd_, place.length, arch::place_of(0, before));
  if (mapped == MAP_FAILED) {
    destroy();
    return OMPL_ERR_UNSUPPORTED;
  }
  place_ = place;
  base_ = static_cast<std::byte*>(mapped) + place.offset;
  return OMPL_OK;
}

int Segment::create_alone() {
  const std::size_t capacity = capacity_;
  rlimit files{};
  if (::getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < capacity) {
    return fail(
        OMPL_ERR_MEMORY,
        "the segment of {} bytes is more than files may have here, {} bytes: lower OMPL_SEGMENT_SIZE "
        "or raise the limit on the size of files (ulimit -f)",
        capacity, files.rlim_cur);
  }
  if (const int code = open_file(); code != OMPL_OK) return code;
  if (::ftruncate(fd_, static_cast<off_t>(capacity)) != 0) {
    return fail(OMPL_ERR_SYSTEM, "cannot create a segment of {} bytes: {}", capacity,
                call_text("ftruncate", errno));
  }
  void* base = arch::map_segment(fd_, capacity, arch::kOwnPlace);
  if (base == MAP_FAILED) {
    return fail(OMPL_ERR_MEMORY,
                "cannot reserve {} bytes of address space for the segment ({}); lower "
                "OMPL_SEGMENT_SIZE or raise "
                "the limit on virtual memory (ulimit -v)",
                capacity, error_text(errno));
  }
  base_ = static_cast<std::byte*>(base);
  place_ = {.fd = fd_, .offset = 0, .length = capacity, .first = 0};
  return OMPL_OK;
}

// In memory and without a name; no other user may open it. Where the system refuses memfd, in a file system.
int Segment::open_file() {
  fd_ = ::memfd_create("omnipgas-segment", MFD_CLOEXEC);
  const char* const call = fd_ < 0 ? "memfd_create" : "fchmod";
  if (fd_ >= 0 && ::fchmod(fd_, S_IRUSR | S_IWUSR) == 0) return OMPL_OK;
  const std::string refused = call_text(call, errno);
  const bool another_way = is_refusal(errno);
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (another_way) fd_ = ::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd_ < 0) return fail(OMPL_ERR_SYSTEM, "cannot create a segment: {}", refused);
  log::warn(
      "{}; segments are files of /dev/shm instead, which may be small in a container (--shm-size)",
      refused);
  return OMPL_OK;
}

// Commits the pages one by one, where the system refuses fallocate; shortage is an error here, too.
int Segment::populate(uint64_t begin, uint64_t length, int refusal) {
  if (!std::exchange(warned_, true)) {
    log::warn("{}; the segment's pages are taken one by one instead, which takes longer",
              call_text("fallocate", refusal));
  }
#ifdef MADV_POPULATE_WRITE
  if (::madvise(base_ + begin, length, MADV_POPULATE_WRITE) == 0) return 0;
  return errno == EINVAL ? refusal : ENOMEM;
#else
  return refusal;
#endif
}

// The kernel undoes all of it when a signal comes; with a timer's it would never end.
int Segment::allocate(uint64_t begin, uint64_t length) {
  const arch::BlockedSignals none_comes;
  const auto call = [&] {
    return ::fallocate(fd_, 0, static_cast<off_t>(place_.offset + begin), static_cast<off_t>(length));
  };
  if (arch::uninterrupted(call) == 0) return 0;
  return is_refusal(errno) ? populate(begin, length, errno) : errno;
}

int Segment::take(uint64_t offset, std::size_t length, const NodeShare& node) {
  const uint64_t begin = page_floor(offset);
  const uint64_t end = page_ceil(offset + length);
  // Ranks of a node allocate at the same time, and what each finds may not do for all: then one after the other.
  std::size_t room = arch::available_memory();
  std::optional<arch::FileTurn> turn;
  if (node.ranks > 1 && length > room / 2 / node.ranks) {
    turn.emplace(node.lock_fd);
    room = arch::available_memory();
  }
  if (length > room) {
    return fail(
        OMPL_ERR_MEMORY,
        "cannot commit {} bytes: only {} bytes of memory are available on this node, or to this "
        "process's cgroup",
        length, room);
  }
  if (const int error = allocate(begin, end - begin); error != 0) {
    return fail(OMPL_ERR_MEMORY, "cannot commit {} bytes of the segment: {}", length,
                call_text("fallocate", error));
  }
  ::madvise(base_ + begin, end - begin, MADV_DODUMP);
  if (huge_pages_ && length >= kHugePage) ::madvise(base_ + begin, end - begin, MADV_HUGEPAGE);
  return OMPL_OK;
}

// Fewer page faults later; may fail.
void Segment::populate_ahead([[maybe_unused]] uint64_t offset, [[maybe_unused]] uint64_t length) {
#ifdef MADV_POPULATE_WRITE
  const uint64_t begin = page_floor(offset);
  ::madvise(base_ + begin, page_ceil(offset + length) - begin, MADV_POPULATE_WRITE);
#endif
}

int Segment::commit(uint64_t offset, std::size_t length, const NodeShare& node, Side side) {
  if (const int code = take(offset, length, node); code != OMPL_OK) return code;
  // Memory used before is zeroed by stores, never by punching holes: a network card may hold it pinned.
  if (offset < fresh_from_)
    std::memset(base_ + offset, 0, std::min<uint64_t>(length, fresh_from_ - offset));
  if (const uint64_t used = std::max<uint64_t>({offset, fresh_from_, fresh_to_});
      used < offset + length)
    std::memset(base_ + used, 0, offset + length - used);
  if (side == Side::bottom) {
    fresh_from_ = std::max(fresh_from_, offset + length);
  } else {
    fresh_to_ = std::min<uint64_t>(fresh_to_, offset);
  }
  populate_ahead(offset, length);
  return OMPL_OK;
}

int Segment::commit_partly(uint64_t offset, std::size_t length, std::size_t first,
                           const NodeShare& node) {
  if (first >= length || offset < fresh_from_ || offset + length > fresh_to_)
    return commit(offset, length, node);
  if (const int code = take(offset, first, node); code != OMPL_OK) return code;
  populate_ahead(offset, first);
  fresh_from_ = offset + length;
  return OMPL_OK;
}

int Segment::commit_rest(uint64_t offset, std::size_t length, const NodeShare& node) {
  return take(offset, length, node);
}

}  // namespace ompl
