// SPDX-License-Identifier: BSD-3-Clause
// The memory of another rank of the node, as the node's progress thread sees it: what lies in that rank's segment is mapped here, the rest the kernel
// copies. Thread rule: the node's progress thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/progress/offload_queue.hpp"
#include "core/job/context.hpp"
#include "core/memory/global_memory.hpp"

namespace ompl::coll {

class Engine;

class MemberMemory {
 public:
  static constexpr std::size_t kMost = 256 << 10;  // bytes of a room for copies

  MemberMemory(const Engine& engine, uint32_t rank);

  // 0, or the error with which it cannot be read.
  [[nodiscard]] int refusal() const { return refusal_; }
  // Whether it is this process's: ranks may be threads.
  [[nodiscard]] bool is_own() const;

  // Where bytes of the rank lie in its segment, and here: nullptr if they do not.
  bool offset_of(const std::byte* address, uint64_t length, uint64_t* offset) const;
  [[nodiscard]] std::byte* mapped(const std::byte* address, uint64_t length) const;

  // Copies; 0 or the error (arch/memory/process_memory.hpp).
  int read(void* to, uint64_t address, std::size_t length) const;
  int write(uint64_t address, const void* from, std::size_t length) const;

  // Of two, for what is copied.
  std::byte* room(std::size_t which) { return rooms_[which].data(); }

 private:
  const GlobalMemory& memory_;  // of this rank
  const int pid_;
  const uint64_t there_;   // the rank's segment in its own memory,
  std::byte* const here_;  // and here,
  std::byte* const own_;   // and this rank's
  const int refusal_;
  std::array<std::vector<std::byte>, 2> rooms_;
};

// Of every rank that was served, by rank.
class MemberMemories {
 public:
  explicit MemberMemories(const Engine& engine) : engine_(engine) {}
  MemberMemory& of(uint32_t rank);

 private:
  const Engine& engine_;
  std::vector<std::unique_ptr<MemberMemory>> memories_;
};

}  // namespace ompl::coll
