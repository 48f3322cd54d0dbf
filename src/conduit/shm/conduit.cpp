// SPDX-License-Identifier: BSD-3-Clause
#include "conduit/shm/conduit.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "util/bytes.hpp"
#include "util/status.hpp"

namespace ompl::conduit::shm {
namespace {

// What a rank tells the others: who it is and where its segment can be opened.
struct Card {
  std::string host;
  int32_t pid = 0;
  int32_t segment_fd = -1;
  int32_t wake_fd = -1;
  uint64_t inode = 0;
  uint64_t capacity = 0;
  uint64_t nonce = 0;
  uint64_t base = 0;  // in the owner's address space

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
    return reader.complete();
  }
};

uint64_t inode_of(int fd) {
  struct stat status {};
  return fd >= 0 && ::fstat(fd, &status) == 0 ? status.st_ino : 0;
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
            .base = reinterpret_cast<uint64_t>(job.segment)};
    return OMPL_OK;
  }

  [[nodiscard]] std::string address() const override { return own_.pack(); }

  Reach connect(uint32_t /*rank*/, std::string_view address) override {
    Card peer;
    if (!peer.unpack(address)) return {.why = "unreadable address"};
    if (peer.host != own_.host)
      return {.why = fmt::format("on another node ({}; this is {})", peer.host, own_.host)};
    if (peer.capacity != own_.capacity) {
      return {.why = fmt::format("its segment has {} bytes, this one {}: set OMPL_SEGMENT_SIZE alike",
                                 peer.capacity, own_.capacity)};
    }
    return peer.pid == own_.pid && inode_of(peer.segment_fd) == peer.inode ? same_process(peer)
                                                                           : map(peer);
  }

 private:
  struct Mapping {
    void* base;
    std::size_t length;
  };

  static Reach same_process(const Card& peer) {
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
  int open_theirs(const Card& peer, int fd, int flags) {
    return keep(::open(fmt::format("/proc/{}/fd/{}", peer.pid, fd).c_str(), flags | O_CLOEXEC));
  }

  Reach map(const Card& peer) {
    // First of all: the pidfd is then of the process whose nonce is read below, or of nobody.
    const int death_fd = keep(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
    const int fd = open_theirs(peer, peer.segment_fd, O_RDWR);
    if (fd < 0) {
      return {.why = fmt::format("cannot open its segment, /proc/{}/fd/{}: {}", peer.pid,
                                 peer.segment_fd, std::strerror(errno))};
    }
    struct stat status {};
    if (::fstat(fd, &status) != 0 || status.st_ino != peer.inode ||
        static_cast<uint64_t>(status.st_size) != peer.capacity) {
      return {.why =
                  "what its process identifier names here is not its segment (another PID namespace?)"};
    }
    void* base =
        ::mmap(nullptr, peer.capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base == MAP_FAILED)
      return {.why = fmt::format("cannot map its segment: {}", std::strerror(errno))};
    mappings_.push_back({.base = base, .length = peer.capacity});
    auto* segment = static_cast<std::byte*>(base);
    if (nonce_at(segment) != peer.nonce)
      return {.why = "the nonce does not read back through the mapping"};
    return {.usable = true,
            .why = "on the same node, its segment mapped",
            .base = segment,
            .death_fd = death_fd,
            .wake_fd = open_theirs(peer, peer.wake_fd, O_RDWR | O_NONBLOCK)};
  }

  const Job* job_ = nullptr;
  Card own_;
  std::vector<Mapping> mappings_;
  std::vector<int> descriptors_;
};

}  // namespace

std::unique_ptr<Conduit> make() { return std::make_unique<ShmConduit>(); }

}  // namespace ompl::conduit::shm
