// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/registry.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "arch/machine.hpp"
#include "arch/mapping.hpp"
#include "conduit/shm/passing.hpp"
#include "util/bytes.hpp"
#include "util/log.hpp"
#include "util/status.hpp"

namespace ompl::conduit::shm {
namespace {

// What a rank tells the others: who it is and where its segment can be opened.
struct SegmentCard {
  std::string host;
  int32_t pid = 0;
  int32_t segment_fd = -1;
  int32_t wake_fd = -1;
  uint64_t inode = 0;
  uint64_t capacity = 0;
  uint64_t nonce = 0;
  uint64_t base = 0;            // in the owner's address space
  uint64_t pid_namespace = 0;   // 0: not known, as without /proc
  uint64_t user_namespace = 0;  // likewise
  uint8_t dumpable = 1;         // 0: nobody may open its descriptors under /proc
  std::string socket;           // where it takes what others pass it
  uint64_t word = 0;            // who passes something proves that it has read this

  [[nodiscard]] std::string pack() const {
    return ByteWriter()
        .add(host)
        .add(pid)
        .add(segment_fd)
        .add(wake_fd)
        .add(inode)
        .add(capacity)
        .add(nonce)
        .add(base)
        .add(pid_namespace)
        .add(user_namespace)
        .add(dumpable)
        .add(socket)
        .add(word)
        .bytes();
  }
  bool unpack(std::string_view bytes) {
    ByteReader reader(bytes);
    reader.get(&host);
    reader.get(&pid);
    reader.get(&segment_fd);
    reader.get(&wake_fd);
    reader.get(&inode);
    reader.get(&capacity);
    reader.get(&nonce);
    reader.get(&base);
    reader.get(&pid_namespace);
    reader.get(&user_namespace);
    reader.get(&dumpable);
    reader.get(&socket);
    reader.get(&word);
    return reader.complete();
  }
};

uint64_t inode_of(int fd) {
  struct stat status {};
  return fd >= 0 && ::fstat(fd, &status) == 0 ? status.st_ino : 0;
}

uint64_t own_namespace(const char* kind) {
  struct stat status {};
  return ::stat(fmt::format("/proc/self/ns/{}", kind).c_str(), &status) == 0 ? status.st_ino : 0;
}

uint64_t nonce_at(const std::byte* base) {
  uint64_t nonce = 0;
  std::memcpy(&nonce, base + kNonceOffset, sizeof nonce);
  return nonce;
}

class ShmConduit final : public Conduit {
 public:
  ~ShmConduit() override {
    for (const Mapping& mapping : mappings_) ::munmap(mapping.base, mapping.length);
    for (const int fd : descriptors_) ::close(fd);
  }

  [[nodiscard]] std::string_view name() const override { return "shm"; }
  [[nodiscard]] Capabilities capabilities() const override {
    return {.direct = true, .passive_target = true, .ordered_signals = true, .remote_completion = true};
  }

  int open(const Job& job) override {
    job_ = &job;
    own_ = {.host = job.host,
            .pid = ::getpid(),
            .segment_fd = job.segment_fd,
            .wake_fd = job.wake_fd,
            .inode = inode_of(job.segment_fd),
            .capacity = job.capacity,
            .nonce = job.nonce,
            .base = reinterpret_cast<uint64_t>(job.segment),
            .pid_namespace = own_namespace("pid"),
            .user_namespace = own_namespace("user"),
            .dumpable = ::prctl(PR_GET_DUMPABLE) == 1,
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
    if (peer.pid == own_.pid && inode_of(peer.segment_fd) == peer.inode) return same_process(peer);
    Reach reach = shows_under_proc(peer) ? open_under_proc(rank, peer) : exchange(rank, peer);
    if (!reach.usable && !std::exchange(warned_of_network_, true)) {
      log::warn(
          "shm: rank {} is on this node, but {}; ranks that do not map each other use a network "
          "instead",
          rank, reach.why);
    }
    return reach;
  }

 private:
  // Both sides come to the same answer from the two cards, so both pass, or neither.
  [[nodiscard]] bool shows_under_proc(const SegmentCard& peer) const {
    return own_.pid_namespace != 0 && peer.pid_namespace == own_.pid_namespace &&
           own_.user_namespace != 0 && peer.user_namespace == own_.user_namespace &&
           peer.dumpable != 0 && own_.dumpable != 0;
  }

  struct Mapping {
    void* base;
    std::size_t length;
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

  // Opens what /proc shows as descriptor `fd` of the peer; -1 with errno if it may not be.
  static int open_theirs(const SegmentCard& peer, int fd, int flags) {
    return ::open(fmt::format("/proc/{}/fd/{}", peer.pid, fd).c_str(), flags | O_CLOEXEC);
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
    // First of all: the pidfd is then of the process whose nonce is read below, or of nobody.
    const int death_fd = keep(open_process(peer.pid));
    const int fd = open_theirs(peer, peer.segment_fd, O_RDWR);
    if (fd < 0) {
      return {.why = fmt::format("cannot open its segment, /proc/{}/fd/{}: {}", peer.pid,
                                 peer.segment_fd, error_text(errno))};
    }
    Reach reach = map(rank, peer, fd, death_fd);
    if (!reach.usable) return reach;
    reach.why = "on the same node, its segment mapped";
    reach.wake_fd = keep(open_theirs(peer, peer.wake_fd, O_RDWR | O_NONBLOCK));
    return reach;
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
    } else {
      ::close(fd);
    }
    reach.death_fd = death_fd;
    return reach;
  }

  Reach map_at(uint32_t rank, const SegmentCard& peer, int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0 || status.st_ino != peer.inode ||
        static_cast<uint64_t>(status.st_size) != peer.capacity) {
      return {.why = "what was opened is not its segment"};
    }
    void* base = arch::map_segment(fd, peer.capacity, arch::place_of_peer(rank));
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
  std::vector<int> descriptors_;
  bool warned_ = false;             // of processes that cannot be watched
  bool warned_of_network_ = false;  // in place of memory
};

}  // namespace

std::unique_ptr<Conduit> make() { return std::make_unique<ShmConduit>(); }

}  // namespace ompl::conduit::shm
