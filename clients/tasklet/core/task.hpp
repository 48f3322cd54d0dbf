// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <omnipgas/tasklet.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/fiber.hpp"
#include "core/spin_lock.hpp"

namespace tasklet {

struct Task;

// A dependence by a tag, and its wait.
struct Clause {
  int32_t kind = 0;
  uint32_t rank = 0;
  uint32_t tag = 0;
  bool left_out = false;    // its tag was in use: it is left out
  uint32_t trace_wait = 0;  // what a tracer knows its wait as
  Task* task = nullptr;
  ompl_watch watch{};
};

// The memory that the children of a task depend on, by address; used by that task alone.
struct Access {
  Task* writer = nullptr;
  std::vector<Task*> readers;
};
using Accesses = std::unordered_map<const void*, Access>;

// Where a task stands. Each stage begins when `blockers` is 0 and somebody takes the task from the queues.
enum class Stage : uint8_t {
  asking,       // its memory dependences hold: tells and asks others by tags
  beginning,    // all that it waits for has come: its function
  in_function,  // suspended in it
  parked,       // its function returned OMPL_TASKLET_AGAIN
  telling,      // its function and its children are over: tells others by tags
  ending        // what it told them has been answered
};

struct Task {
  std::atomic<uint32_t> blockers{1};    // what has to happen before the next stage
  std::atomic<uint32_t> references{1};  // the task until it is over, and tables of accesses
  std::atomic<uint32_t> children{
      1};  // not over, and 1 for the task itself while it does not wait for them
  std::atomic<int32_t> error{OMPL_OK};
  std::atomic<int32_t> children_error{OMPL_OK};
  std::atomic<int32_t> resumes{0};  // that came before the task was parked; -1: it is parked
  Stage stage = Stage::asking;
  int8_t priority = 0;
  bool claimed = false;  // the places of the tags that this stage waits for
  uint32_t told = 0;     // clauses of which the signals of this stage were sent
  ompl_tasklet_fn function = nullptr;
  void (*release)(void*) = nullptr;
  void* argument = nullptr;
  const char* name = nullptr;
  uint64_t trace_id = 0;    // what a tracer knows it as,
  uint32_t trace_wait = 0;  // and what it was suspended for
  Task* parent = nullptr;
  Fiber* fiber = nullptr;       // suspended on it
  ompl_ctx* context = nullptr;  // its own, once it has asked for one
  int wait_code = OMPL_OK;      // how the wait ended that it was suspended for
  std::vector<Clause> clauses;
  std::unique_ptr<Accesses> accesses;
  std::unique_ptr<std::byte[]> long_argument;

  std::atomic<bool> over{false};
  SpinLock lock;  // of the successors, and held to set `over`
  std::vector<Task*> successors;

  // For reports: what it is suspended for.
  const char* waits_for = nullptr;
  uint64_t waits_at = 0;
  Task* previous = nullptr;  // of all tasks that wait for something of the layer
  Task* next = nullptr;

  alignas(16) std::array<std::byte, 64> short_argument;

  void fail(int code) {
    int32_t none = OMPL_OK;
    error.compare_exchange_strong(none, code, std::memory_order_acq_rel);
  }
};

}  // namespace tasklet
