// SPDX-License-Identifier: BSD-3-Clause
#include "coll/progress/member_memory.hpp"

#include <unistd.h>

#include <cerrno>

#include "arch/memory/process_memory.hpp"
#include "coll/engine.hpp"

namespace ompl::coll {
namespace {

// A number of another process, or of another namespace of processes, is not that rank's.
int try_to_read(const NodeEndpoint& node_endpoint) {
  uint64_t proof = 0;
  const int error = arch::read_process(node_endpoint.pid, &proof, node_endpoint.proof_at, sizeof proof);
  return error == 0 && proof != node_endpoint.proof ? ESRCH : error;
}

}  // namespace

MemberMemory::MemberMemory(const Engine& engine, uint32_t rank)
    : memory_(engine.runtime().memory),
      pid_(engine.node_endpoint(rank).pid),
      there_(engine.node_endpoint(rank).segment),
      here_(engine.segment(rank)),
      own_(engine.segment(engine.runtime().rank())),
      refusal_(try_to_read(engine.node_endpoint(rank))) {
  if (refusal_ == 0 && !is_own())
    for (std::vector<std::byte>& room : rooms_) room.resize(kMost);
}

bool MemberMemory::is_own() const { return pid_ == ::getpid(); }

// All ranks have the same allocations.
bool MemberMemory::offset_of(const std::byte* address, uint64_t length, uint64_t* offset) const {
  const uint64_t at = reinterpret_cast<uintptr_t>(address) - there_;
  const uint64_t own = reinterpret_cast<uintptr_t>(own_) + at;
  return memory_.offset_of(reinterpret_cast<const void*>(own),
                           length,  // NOLINT(performance-no-int-to-ptr)
                           offset);
}

std::byte* MemberMemory::mapped(const std::byte* address, uint64_t length) const {
  uint64_t offset = 0;
  return offset_of(address, length, &offset) ? here_ + offset : nullptr;
}

int MemberMemory::read(void* to, uint64_t address, std::size_t length) const {
  return arch::read_process(pid_, to, address, length);
}

int MemberMemory::write(uint64_t address, const void* from, std::size_t length) const {
  return arch::write_process(pid_, address, from, length);
}

MemberMemory& MemberMemories::of(uint32_t rank) {
  if (memories_.size() <= rank) memories_.resize(rank + 1);
  std::unique_ptr<MemberMemory>& memory = memories_[rank];
  if (memory == nullptr) memory = std::make_unique<MemberMemory>(engine_, rank);
  return *memory;
}

}  // namespace ompl::coll
