// SPDX-License-Identifier: BSD-3-Clause
#include "fabric.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace emulator {
namespace {

constexpr uint64_t kMade = 0x75546f6675206f6bULL;

SharedNode* attached = nullptr;

void* map_file(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || flock(file, LOCK_EX) != 0 || ftruncate(file, sizeof(Shared)) != 0) {
    std::fprintf(stderr, "utofu emulator: cannot use UTOFU_EMULATOR_FABRIC=%s: %s\n", path,
                 std::strerror(errno));
    if (file >= 0) close(file);
    return MAP_FAILED;
  }
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  auto* const machine = static_cast<Shared*>(memory);
  if (memory != MAP_FAILED && machine->made != kMade) {
    machine->mutex.make();
    machine->made = kMade;
  }
  flock(file, LOCK_UN);  // the mapping keeps the file open
  close(file);
  return memory;
}

void* map_own() {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) static_cast<Shared*>(memory)->mutex.make();
  return memory;
}

Shared* attach() {
  const char* const path = std::getenv("UTOFU_EMULATOR_FABRIC");
  void* const memory = path != nullptr ? map_file(path) : map_own();
  if (memory == MAP_FAILED) return nullptr;
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // other nodes write to this process's memory
  auto* const machine = static_cast<Shared*>(memory);
  const std::lock_guard lock(machine->mutex);
  for (SharedNode& node : machine->nodes) {
    if (node.process != 0) continue;
    node.process = getpid();
    node.atomics.make();
    attached = &node;
    return machine;
  }
  std::fprintf(stderr, "utofu emulator: the machine has %u nodes, and all are taken\n", kNodes);
  munmap(memory, sizeof(Shared));
  return nullptr;
}

// The memory that a piece of a command is about, or why there is none. Under the VCQ's mutex.
int locate(const SharedVcq& vcq, const Steering& at, std::size_t length, bool writes,
           uint64_t* address) {
  const SharedNode& node = shared()->nodes[vcq.node];
  if (!vcq.live || vcq.generation != at.generation || node.cut) return UTOFU_ERR_MRQ_PEER;
  const Registration& memory = vcq.registrations[at.stag];
  if (memory.size == 0) return UTOFU_ERR_MRQ_RMT_STADD;
  if (at.offset > memory.size || length > memory.size - at.offset) return UTOFU_ERR_MRQ_RMT_LENGTH;
  if (writes && memory.read_only) return UTOFU_ERR_MRQ_RMT_MEMORY;
  *address = memory.address + at.offset;
  return UTOFU_SUCCESS;
}

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

int result_of(ssize_t copied, std::size_t length) {
  if (copied == static_cast<ssize_t>(length)) return UTOFU_SUCCESS;
  return copied < 0 && errno == ESRCH ? UTOFU_ERR_MRQ_PEER : UTOFU_ERR_MRQ_RMT_MEMORY;
}

int write_other(pid_t process, uint64_t address, const void* from, std::size_t length) {
  const iovec source = {const_cast<void*>(from), length};
  const iovec target = {pointer(address), length};
  return result_of(process_vm_writev(process, &source, 1, &target, 1, 0), length);
}

// As whoever polls that word must see it: whole, and after all before it.
template <class Word>
void store_last(uint64_t address, const void* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  reinterpret_cast<std::atomic<Word>*>(address)->store(word, std::memory_order_release);
}

}  // namespace

void Mutex::make() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void Mutex::lock() {
  if (pthread_mutex_lock(&mutex_) == EOWNERDEAD) pthread_mutex_consistent(&mutex_);
}

bool Steering::parse(uint64_t stadd) {
  const uint64_t key = stadd >> 52;
  if (key == 0 || key > uint64_t{kNodes} * kVcqs) return false;
  node = static_cast<uint16_t>((key - 1) / kVcqs);
  index = static_cast<uint16_t>((key - 1) % kVcqs);
  stag = static_cast<unsigned>(stadd >> kOffsetBits) % kStags;
  offset = stadd & ((uint64_t{1} << kOffsetBits) - 1);
  return true;
}

Shared* shared() {
  static Shared* const machine = attach();
  return machine;
}

SharedNode* own_node() { return shared() != nullptr ? attached : nullptr; }

SharedVcq* find(utofu_vcq_id_t id) {
  const auto node = static_cast<uint16_t>(id >> 16);
  const auto index = static_cast<uint16_t>(id);
  Shared* const machine = shared();
  if (machine == nullptr || node >= kNodes || index >= kVcqs) return nullptr;
  SharedVcq& vcq = machine->nodes[node].vcqs[index];
  return vcq.generation != 0 && vcq.id() == id ? &vcq : nullptr;
}

void notify(SharedVcq& vcq, const utofu_mrq_notice& notice, int code, unsigned depth) {
  const std::lock_guard lock(vcq.mutex);
  if (!vcq.live) return;
  if (vcq.arrived - vcq.taken >= depth)
    violation("a message receive queue overflowed: more notices wait than it has room for");
  vcq.notices[vcq.arrived++ % kMrq] = {notice, code};
}

int write_to(SharedVcq& vcq, const Steering& at, const void* from, std::size_t length,
             bool last_word_at_once) {
  const std::lock_guard lock(vcq.mutex);
  uint64_t address = 0;
  if (const int code = locate(vcq, at, length, true, &address); code != UTOFU_SUCCESS) return code;
  const std::size_t word = !last_word_at_once                           ? 0
                           : length >= 8 && (address + length) % 8 == 0 ? 8
                           : length >= 4 && (address + length) % 4 == 0 ? 4
                                                                        : 0;
  const std::size_t rest = length - word;
  const auto* const last = static_cast<const std::byte*>(from) + rest;
  const pid_t process = shared()->nodes[vcq.node].process;
  if (process != getpid()) {
    const int code = rest != 0 ? write_other(process, address, from, rest) : UTOFU_SUCCESS;
    return code == UTOFU_SUCCESS && word != 0 ? write_other(process, address + rest, last, word) : code;
  }
  std::memcpy(pointer(address), from, rest);
  if (word == 8) store_last<uint64_t>(address + rest, last);
  if (word == 4) store_last<uint32_t>(address + rest, last);
  return UTOFU_SUCCESS;
}

int read_from(SharedVcq& vcq, const Steering& at, void* to, std::size_t length) {
  const std::lock_guard lock(vcq.mutex);
  uint64_t address = 0;
  if (const int code = locate(vcq, at, length, false, &address); code != UTOFU_SUCCESS) return code;
  const pid_t process = shared()->nodes[vcq.node].process;
  if (process == getpid()) {
    std::memcpy(to, pointer(address), length);
    return UTOFU_SUCCESS;
  }
  const iovec target = {to, length};
  const iovec source = {pointer(address), length};
  return result_of(process_vm_readv(process, &target, 1, &source, 1, 0), length);
}

void violation(const char* what) {
  std::fprintf(stderr, "utofu emulator: %s\n", what);
  std::abort();
}

}  // namespace emulator
