// SPDX-License-Identifier: BSD-3-Clause
#include "core/memory/node_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

#include "arch/memory/mapping.hpp"
#include "arch/process_files.hpp"
#include "util/bytes.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl {
namespace {

constexpr std::string_view kKey = "node";

// What the first rank of a node tells the others.
struct NodeCard {
  std::string host;
  arch::ProcessView process;
  int32_t table_fd = -1;
  uint64_t inode = 0;
  uint64_t capacity = 0;

  [[nodiscard]] std::string pack() const {
    ByteWriter writer;
    process.add_to(writer.add(host));
    return writer.add(table_fd).add(inode).add(capacity).bytes();
  }
  bool unpack(std::string_view bytes) {
    ByteReader reader(bytes);
    reader.get(&host);
    process.get_from(reader);
    reader.get(&table_fd);
    reader.get(&inode);
    reader.get(&capacity);
    return reader.complete();
  }
};

// A file in memory that no other user may open; -1 with errno.
int open_memory(const char* name, std::size_t length) {
  const int fd = ::memfd_create(name, MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (::fchmod(fd, S_IRUSR | S_IWUSR) == 0 && ::ftruncate(fd, static_cast<off_t>(length)) == 0)
    return fd;
  ::close(fd);
  return -1;
}

// Whether this process may write at the end of so long a file: elsewhere it would die of it.
bool may_have_files_of(std::size_t length) {
  rlimit files{};
  return ::getrlimit(RLIMIT_FSIZE, &files) != 0 || files.rlim_cur >= length;
}

}  // namespace

// Without the launcher's word on the nodes all ranks may be here: those that are not find another host's card.
void NodeMemory::find_ranks(const std::vector<uint32_t>& nodes, uint32_t rank, uint32_t size) {
  ranks_.clear();
  if (nodes.size() != size) {
    ranks_.resize(size);
    std::iota(ranks_.begin(), ranks_.end(), 0U);
  } else {
    for (uint32_t other = 0; other < size; ++other) {
      if (nodes[other] == nodes[rank]) ranks_.push_back(other);
    }
  }
  place_of_ = position(rank);
}

// ranks_.size() if it is not of this node.
uint32_t NodeMemory::position(uint32_t rank) const {
  const auto found = std::ranges::lower_bound(ranks_, rank);
  const bool here = found != ranks_.end() && *found == rank;
  return static_cast<uint32_t>(here ? found - ranks_.begin() : std::ssize(ranks_));
}

uint32_t NodeMemory::ranks_of_a_file() const {
  const auto ranks = static_cast<uint32_t>(ranks_.size());
  return std::max(kRanksOfAFile, (ranks + kMaxFiles - 1) / kMaxFiles);
}

std::size_t NodeMemory::table_bytes() const {
  return sizeof(Table) + ranks_.size() * sizeof(NodeEntry);
}

int NodeMemory::join(bootstrap::Bootstrap& bootstrap, const std::string& host, std::size_t capacity,
                     bool wanted) {
  find_ranks(bootstrap.node_map(), bootstrap.rank(), bootstrap.size());
  capacity_ = capacity;
  stride_ = arch::segment_stride(capacity);
  int table_fd = -1;
  if (place_of_ == 0) {
    NodeCard card;
    if (wanted && ranks_.size() > 1 && create(capacity)) {
      table_fd = files_.back();
      card = {.host = host,
              .process = arch::ProcessView::own(),
              .table_fd = table_fd,
              .inode = arch::inode_of(table_fd),
              .capacity = capacity};
    }
    if (const int code = bootstrap.set(kKey, card.pack()); code != OMPL_OK) return code;
  }
  if (const int code = bootstrap.fence(); code != OMPL_OK) return code;
  if (place_of_ == 0 || !wanted) return OMPL_OK;
  std::string card;
  if (const int code = bootstrap.get(ranks_.front(), kKey, &card); code != OMPL_OK) return code;
  if (!attach(card, host)) close();
  return OMPL_OK;
}

bool NodeMemory::create(std::size_t capacity) {
  const std::size_t bytes = table_bytes();
  const int fd = open_memory("omnipgas-node", bytes);
  // Committed at once: shortage is to be an error and not SIGBUS.
  const bool made = fd >= 0 && ::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0 && map_table(fd);
  if (made) {
    table_->ranks = static_cast<uint32_t>(ranks_.size());
    if (create_files()) {
      place_segment(std::exchange(files_.front(), -1));
      files_.push_back(fd);
      return true;
    }
  }
  log::info("the ranks of this node have a file each for their segments of {} bytes: {}", capacity,
            error_text(errno));
  if (fd >= 0) ::close(fd);
  close();
  return false;
}

bool NodeMemory::create_files() {
  const auto ranks = static_cast<uint32_t>(ranks_.size());
  for (uint32_t first = 0; first < ranks; first += ranks_of_a_file()) {
    errno = EFBIG;
    if (stride_ > static_cast<std::size_t>(INT64_MAX) / ranks_of_a_file()) return false;
    const std::size_t length = std::min(ranks_of_a_file(), ranks - first) * stride_;
    const int fd = may_have_files_of(length) ? open_memory("omnipgas-segments", length) : -1;
    if (fd < 0) return false;
    table_->fds[files_.size()] = fd;
    table_->inodes[files_.size()] = arch::inode_of(fd);
    files_.push_back(fd);
  }
  return true;
}

bool NodeMemory::map_table(int fd) {
  void* const mapped = ::mmap(nullptr, table_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return false;
  ::madvise(mapped, table_bytes(), MADV_DONTDUMP);
  table_ = static_cast<Table*>(mapped);
  return true;
}

bool NodeMemory::attach(std::string_view bytes, const std::string& host) {
  NodeCard card;
  if (!card.unpack(bytes) || card.inode == 0 || card.host != host || card.capacity != capacity_ ||
      !arch::ProcessView::own().shows(card.process))
    return false;
  const int table_fd = arch::open_descriptor_of(card.process.pid, card.table_fd, O_RDWR);
  if (table_fd < 0) return false;
  const bool mapped = arch::is_file(table_fd, card.inode, table_bytes()) && map_table(table_fd);
  ::close(table_fd);
  if (!mapped || table_->ranks != ranks_.size()) return false;
  const uint32_t file = place_of_ / ranks_of_a_file();
  const int fd = arch::open_descriptor_of(card.process.pid, table_->fds[file], O_RDWR);
  if (fd < 0) return false;
  place_segment(fd);
  if (arch::is_file(fd, table_->inodes[file], place_.length) && may_have_files_of(place_.length))
    return true;
  return false;
}

void NodeMemory::place_segment(int fd) {
  const uint32_t first = place_of_ / ranks_of_a_file() * ranks_of_a_file();
  const auto ranks = static_cast<uint32_t>(ranks_.size());
  place_ = {.fd = fd,
            .offset = (place_of_ - first) * stride_,
            .length = std::min(ranks_of_a_file(), ranks - first) * stride_,
            .first = first};
}

SegmentPlace NodeMemory::take_place() { return std::exchange(place_, {}); }

// The first rank's files stay: others have their segments there.
void NodeMemory::give_up() {
  if (place_.fd >= 0) ::close(place_.fd);
  place_ = {};
  if (table_ != nullptr) ::munmap(std::exchange(table_, nullptr), table_bytes());
}

bool NodeMemory::publish(std::string_view card, std::span<const uint64_t, kCoreWords> cores) {
  if (table_ == nullptr || card.size() > sizeof(NodeEntry::card)) return false;
  NodeEntry& own = table_->entries[place_of_];
  std::ranges::copy(cores, own.cores);
  std::memcpy(own.card, card.data(), card.size());
  own.card_length = static_cast<uint32_t>(card.size());
  own.there.store(1, std::memory_order_release);
  return published_ = true;
}

const NodeEntry* NodeMemory::entry(uint32_t rank) const {
  if (!published_) return nullptr;
  const uint32_t at = position(rank);
  if (at == ranks_.size()) return nullptr;
  const NodeEntry& found = table_->entries[at];
  return found.there.load(std::memory_order_acquire) != 0 ? &found : nullptr;
}

bool NodeMemory::read(uint32_t rank, std::string* card) const {
  const NodeEntry* const found = entry(rank);
  if (found == nullptr) return false;
  card->assign(found->card, std::min<std::size_t>(found->card_length, sizeof found->card));
  return true;
}

void NodeMemory::settle() {
  for (const int fd : files_) {
    if (fd >= 0) ::close(fd);
  }
  files_.clear();
}

void NodeMemory::close() {
  published_ = false;
  give_up();
  settle();
}

}  // namespace ompl
