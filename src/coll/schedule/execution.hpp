// SPDX-License-Identifier: BSD-3-Clause
// How far a member has come in a schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coll/schedule/operation.hpp"
#include "coll/schedule/schedule.hpp"
#include "core/data/handle.hpp"

namespace ompl::coll {

class MemberMemory;

// What is carried out, and on which buffers.
struct Work {
  const Schedule* schedule = nullptr;
  std::byte* send = nullptr;
  std::byte* receive = nullptr;
  const ReductionOperation* operation = nullptr;
};

// A step of the round under way.
struct Progress {
  enum class Phase : uint8_t { begin, cells, straight, done };
  Phase phase = Phase::begin;
  uint64_t bytes = 0;   // done
  uint64_t offset = 0;  // where a straight message goes
  Handle handle{};      // of its piece that is under way
};

struct Execution {
  Work now;
  MemberMemory* memory = nullptr;  // where the buffers are; null: in this process
  std::vector<std::byte> scratch;
  std::vector<Progress> progress;  // of the round's steps
  uint32_t round = 0;
  uint32_t first = 0;  // the round's first step that is not done
  int failure =
      OMPL_OK;  // it goes on, lest others wait for it for ever, and what it sends is worth nothing
  std::string why;

  // At least as much as a schedule needs. Before it is started; without memory: std::bad_alloc.
  void make_room(uint32_t widest) {
    if (progress.size() < widest) progress.resize(widest);
  }
  // Without memory it goes on and tells the others, who have started it, too.
  void find_scratch(uint64_t bytes);
  void begin(const Work& work);
  void begin_round();
  void note_failure(int code, std::string reason);
};

}  // namespace ompl::coll
