// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "arch/life_lock.hpp"
#include "arch/machine.hpp"
#include "arch/memory/mapping.hpp"
#include "arch/process_files.hpp"
#include "conduit/shm/passing.hpp"
#include "util/bytes.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::shm {
namespace {

// What a rank tells the others: who it is and where its segment can be opened.
struct SegmentCard {
  std::string host;
  arch::ProcessView process;
  int32_t segment_fd = -1;
  int32_t wake_fd = -1;
  uint64_t inode = 0;
  uint64_t capacity = 0;
  uint64_t nonce = 0;
  uint64_t base = 0;         // in the owner's address space
  uint64_t offset = 0;       // in its file,
  uint64_t file_length = 0;  // which may hold those of others too,
  uint32_t file_first = 0;   // as Job has it
  std::string socket;        // where it takes what others pass it
  uint64_t word = 0;         // who passes something proves that it has read this

  [[nodiscard]] pid_t pid() const { return process.pid; }
  [[nodiscard]] bool shares_file() const { return file_length > capacity; }
  // Whether such a segment can be: the card is outside bytes.
  [[nodiscard]] bool fits() const {
    return capacity <= file_length && offset <= file_length - capacity && offset % 4096 == 0;
  }

  [[nodiscard]] std::string pack() const {
    ByteWriter writer;
    process.add_to(writer.add(host));
    return writer.add(segment_fd)
        .add(wake_fd)
        .add(inode)
        .add(capacity)
        .add(nonce)
        .add(base)
        .add(offset)
        .add(file_length)
        .add(file_first)
        .add(socket)
        .add(word)
        .bytes();
  }
  bool unpack(std::string_view bytes) {
    ByteReader reader(bytes);
    reader.get(&host);
    process.get_from(reader);
    reader.get(&segment_fd);
    reader.get(&wake_fd);
    reader.get(&inode);
    reader.get(&capacity);
    reader.get(&nonce);
    reader.get(&base);
    reader.get(&offset);
    reader.get(&file_length);
    reader.get(&file_first);
    reader.get(&socket);
    reader.get(&word);
    return reader.complete();
  }
};

uint64_t nonce_at(const std::byte* base) {
  uint64_t nonce = 0;
  std::memcpy(&nonce, base + kNonceOffset, sizeof nonce);
  return nonce;
}

class ShmConduit final : public Conduit {
 public:
  ~ShmConduit() override {
    for (const Mapping& mapping : mappings_) ::munmap(mapping.base, mapping.length);
    for (const File& file : files_) ::munmap(file.base, file.length);
    for (const int fd : descriptors_) ::close(fd);
  }

  [[nodiscard]] std::string_view name() const override { return "shm"; }
  [[nodiscard]] Capabilities capabilities() const override {
    return {.direct = true,
            .maps_files = true,
            .passive_target = true,
            .ordered_signals = true,
            .remote_completion = true};
  }

  int open(const Job& job) override {
    job_ = &job;
    own_ = {.host = job.host,
            .process = arch::ProcessView::own(),
            .segment_fd = job.segment_fd,
            .wake_fd = job.wake_fd,
            .inode = arch::inode_of(job.segment_fd),
            .capacity = job.capacity,
            .nonce = job.nonce,
            .base = reinterpret_cast<uint64_t>(job.segment),
            .offset = job.segment_offset,
            .file_length = job.file_length,
            .file_first = job.file_first,
            .socket = {},
            .word = 0};
    if (job.size == 1) return OMPL_OK;
    arch::allow_descriptors(descriptors_of_peers(job.size) + kDescriptorsOfTheProgram);
    const Tolerance without_one;  // ranks that see each other under /proc need no sockets
    if (passing_.open() != OMPL_OK) {
      log::warn("shm: {}; ranks map each other's memory under /proc only", error_detail());
      return OMPL_OK;
    }
    own_.socket = passing_.name();
    own_.word = passing_.word();
    return OMPL_OK;
  }

  [[nodiscard]] std::string address() const override { return own_.pack(); }

  // The first memory is about to be used, so this rank has connected to all: whoever had to send has sent.
  int commit(uint64_t /*offset*/, std::size_t /*length*/) override {
    passing_.close();
    return OMPL_OK;
  }

  Reach connect(uint32_t rank, std::string_view address) override {
    SegmentCard peer;
    if (!peer.unpack(address))
      return {.why = "unreadable address: do all ranks use the same version of the library?"};
    if (peer.host != own_.host)
      return {.why = fmt::format("on another node ({}; this is {})", peer.host, own_.host)};
    if (peer.capacity != own_.capacity) {
      return {.why = fmt::format("its segment has {} bytes, this one {}: set OMPL_SEGMENT_SIZE alike",
                                 peer.capacity, own_.capacity)};
    }
    if (!peer.fits()) return {.why = "its segment does not fit into its file"};
    if (peer.pid() == own_.pid() && arch::inode_of(peer.segment_fd) == peer.inode)
      return same_process(peer);
    // Both sides come to the same answer from the two cards, so both pass, or neither.
    Reach reach = own_.process.shows(peer.process) ? open_under_proc(rank, peer) : exchange(rank, peer);
    if (!reach.usable && !std::exchange(warned_of_network_, true)) {
      log::warn(
          "shm: rank {} is on this node, but {}; ranks that do not map each other use a network "
          "instead",
          rank, reach.why);
    }
    return reach;
  }

  int wake_descriptor(uint32_t /*rank*/, std::string_view address) override {
    SegmentCard peer;
    if (!peer.unpack(address) || !own_.process.shows(peer.process)) return -1;
    return keep(arch::open_descriptor_of(peer.pid(), peer.wake_fd, O_RDWR | O_NONBLOCK));
  }

 private:
  struct Mapping {
    void* base;
    std::size_t length;
  };
  // One that holds segments of several ranks, mapped as one.
  struct File {
    int fd = -1;
    uint64_t inode = 0;
    std::byte* base = nullptr;
    std::size_t length = 0;
  };

  static Reach same_process(const SegmentCard& peer) {
    return {.usable = true,
            .why = "in the same process",
            .base = reinterpret_cast<std::byte*>(peer.base),  // NOLINT(performance-no-int-to-ptr)
            .wake_fd = peer.wake_fd};
  }

  int keep(int fd) {
    if (fd >= 0) descriptors_.push_back(fd);
    return fd;
  }

  // A descriptor that tells of the process's death, or -1.
  int open_process(pid_t pid) {
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (fd < 0 && errno != ESRCH && !std::exchange(warned_, true)) {
      log::warn(
          "shm: the system call pidfd_open failed: {}; deaths of ranks of this node are looked for by "
          "the locks that "
          "they hold on their segments",
          error_text(errno));
    }
    return fd;
  }

  Reach open_under_proc(uint32_t rank, const SegmentCard& peer) {
    if (peer.shares_file()) {
      if (Reach reach = map_with_others(peer); reach.usable) return reach;
    }
    // First of all: the pidfd is then of the process whose nonce is read below, or of nobody.
    const int death_fd = keep(open_process(peer.pid()));
    const int fd = arch::open_descriptor_of(peer.pid(), peer.segment_fd, O_RDWR);
    if (fd < 0) {
      return {.why = fmt::format("cannot open its segment, /proc/{}/fd/{}: {}", peer.pid(),
                                 peer.segment_fd, error_text(errno))};
    }
    Reach reach = map(rank, peer, fd, death_fd);
    if (reach.usable) reach.why = "on the same node, its segment mapped";
    return reach;
  }

  // The pidfd is opened first: it is of the process that holds the lock then, or of nobody.
  Reach map_with_others(const SegmentCard& peer) {
    const File file = file_of(peer);
    if (file.base == nullptr) return {};
    const int death_fd = open_process(peer.pid());
    if (arch::holder_of_life_lock(file.fd, peer.offset) != peer.pid()) {
      if (death_fd >= 0) ::close(death_fd);
      return {};
    }
    return {.usable = true,
            .why = "on the same node, its segment mapped with those of others",
            .base = file.base + peer.offset,
            .death_fd = keep(death_fd),
            .segment_fd = file.fd,
            .segment_offset = peer.offset};
  }

  // The file that holds the peer's segment and others, which is mapped when the first of them is asked for.
  File file_of(const SegmentCard& peer) {
    if (peer.inode == own_.inode && peer.file_length == own_.file_length) {
      return {.fd = job_->segment_fd,
              .inode = own_.inode,
              .base = job_->segment - own_.offset,
              .length = own_.file_length};
    }
    for (const File& file : files_) {
      if (file.inode == peer.inode && file.length == peer.file_length) return file;
    }
    const int fd = arch::open_descriptor_of(peer.pid(), peer.segment_fd, O_RDWR);
    if (fd < 0) return {};
    void* const base = is_file_of(fd, peer)
                           ? arch::map_segment(fd, peer.file_length, place_of_file(peer))
                           : MAP_FAILED;
    if (base == MAP_FAILED) {
      give_back(fd, peer);
      return {};
    }
    files_.push_back({.fd = keep(fd),
                      .inode = peer.inode,
                      .base = static_cast<std::byte*>(base),
                      .length = peer.file_length});
    return files_.back();
  }

  // By the numbers, among the ranks of the node, of the file's first one and of this one.
  [[nodiscard]] uint32_t place_of_file(const SegmentCard& peer) const {
    const auto before = static_cast<uint32_t>(own_.offset / arch::segment_stride(own_.capacity));
    return arch::place_of(peer.file_first, own_.file_first + before);
  }

  static bool is_file_of(int fd, const SegmentCard& peer) {
    return arch::is_file(fd, peer.inode, peer.file_length);
  }

  // This process holds a lock on its own file, which it would lose by closing any descriptor of that.
  void give_back(int fd, const SegmentCard& peer) {
    if (peer.inode == own_.inode) {
      keep(fd);
    } else {
      ::close(fd);
    }
  }

  // Sends this rank's segment over the peer's socket and takes the peer's from the own one.
  Reach exchange(uint32_t rank, const SegmentCard& peer) {
    if (own_.socket.empty() || peer.socket.empty()) {
      return {.why = fmt::format(
                  "its process is hidden from this one (PID or user namespace, no /proc), and {} "
                  "has no Unix socket",
                  own_.socket.empty() ? "this one" : "it")};
    }
    const int own_process = open_process(::getpid());
    const Gift mine{.segment = job_->segment_fd,
                    .wake_read = job_->wake_read_fd,
                    .wake_write = job_->wake_fd,
                    .process = own_process};
    const bool sent = passing_.send(peer.socket, peer.word, job_->rank, mine);
    if (own_process >= 0) ::close(own_process);
    Gift theirs;
    if (!sent || !passing_.receive(rank, &theirs)) {
      return {.why =
                  "its process is hidden from this one (PID or user namespace, not dumpable, no "
                  "/proc), and "
                  "no socket leads to it (network namespace); containers of a node share the network "
                  "(--network host) or, of one user, PIDs (--pid host)"};
    }
    for (const int fd : {theirs.wake_read, theirs.wake_write, theirs.process}) keep(fd);
    Reach reach = map(rank, peer, theirs.segment, theirs.process);
    if (!reach.usable) return reach;
    reach.why = "on the same node, its segment passed over a socket and mapped";
    reach.wake_fd = theirs.wake_write;
    return reach;
  }

  // Takes `fd`, and keeps it where it is needed later: to see the peer's death, if there is no pidfd; and of the first
  // rank of the node, for its lock.
  Reach map(uint32_t rank, const SegmentCard& peer, int fd, int death_fd) {
    Reach reach = map_at(rank, peer, fd);
    const bool first = job_->rank > rank && mappings_.size() == 1;
    if (reach.usable && (death_fd < 0 || first)) {
      reach.segment_fd = keep(fd);
      reach.segment_offset = peer.offset;
    } else {
      give_back(fd, peer);
    }
    reach.death_fd = death_fd;
    return reach;
  }

  Reach map_at(uint32_t rank, const SegmentCard& peer, int fd) {
    if (!is_file_of(fd, peer)) return {.why = "what was opened is not its segment"};
    void* base = arch::map_segment(fd, peer.capacity, arch::place_of(rank, job_->rank), peer.offset);
    if (base == MAP_FAILED)
      return {.why = fmt::format("cannot map its segment: {}", error_text(errno))};
    mappings_.push_back({.base = base, .length = peer.capacity});
    auto* segment = static_cast<std::byte*>(base);
    if (nonce_at(segment) != peer.nonce)
      return {.why = "the nonce does not read back through the mapping"};
    return {.usable = true, .why = {}, .base = segment};
  }

  const Job* job_ = nullptr;
  SegmentCard own_;
  Passing passing_;
  std::vector<Mapping> mappings_;
  std::vector<File> files_;
  std::vector<int> descriptors_;
  bool warned_ = false;             // of processes that cannot be watched
  bool warned_of_network_ = false;  // in place of memory
};

}  // namespace

std::unique_ptr<Conduit> make() { return std::make_unique<ShmConduit>(); }

}  // namespace ompl::conduit::shm
