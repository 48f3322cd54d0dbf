// SPDX-License-Identifier: BSD-3-Clause
// The life of a task, stage by stage.
#include <cxxabi.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "core/runtime.hpp"
#include "core/trace.hpp"

namespace tasklet {
namespace {

constexpr uint32_t bit(int32_t kind) { return 1U << kind; }
constexpr uint32_t kAsked = bit(OMPL_TASKLET_PUT_READY);
constexpr uint32_t kAwaited = kAsked | bit(OMPL_TASKLET_PUT) | bit(OMPL_TASKLET_GET);
constexpr uint32_t kServed = bit(OMPL_TASKLET_GET_READY);
constexpr uint32_t kTold = kServed | bit(OMPL_TASKLET_PUT) | bit(OMPL_TASKLET_GET);
constexpr uint32_t kUnused = 4 * TaskMemory::kBatch;  // tasks' memory that a worker keeps, at most

int call(Task& task) {
  const char* why = "what is no std::exception";
  try {
    return task.function(task.argument);
  } catch (const abi::__forced_unwind&) {
    throw;
  } catch (const std::exception& error) {
    why = error.what();
    std::fprintf(stderr, "ompl: task %s threw an exception: %s\n",
                 task.name == nullptr ? "" : task.name, why);
  } catch (...) {
    std::fprintf(stderr, "ompl: task %s threw an exception: %s\n",
                 task.name == nullptr ? "" : task.name, why);
  }
  return OMPL_TASKLET_ERR_EXCEPTION;
}

bool has(const Task& task, uint32_t kinds) {
  for (const Clause& clause : task.clauses)
    if ((kinds >> clause.kind & 1) != 0) return true;
  return false;
}

// Tells `sent` and waits for `awaited`, then goes on to `next`; false: the task is no longer the caller's.
bool exchange_tags(Runtime& r, Task* task, uint32_t sent, uint32_t awaited, Stage next) {
  if (!has(*task, sent | awaited)) {
    task->stage = next;
    return true;
  }
  if (!std::exchange(task->claimed, true)) claim_places(r, *task, awaited);
  if (!send_tags(r, *task, sent)) {
    enqueue_last(task);
    return false;
  }
  task->told = 0;
  task->claimed = false;
  task->stage = next;
  return await_tags(r, *task, awaited);
}

// Its function; false: the task waits for its children, or to be resumed.
bool run(Task* task) {
  if (task->error.load(std::memory_order_acquire) == OMPL_OK) {
    task->stage = Stage::in_function;
    trace_begin(*task);
    const int result = call(*task);
    trace_end(*task, result == OMPL_TASKLET_AGAIN);
    if (result == OMPL_TASKLET_AGAIN) {
      task->stage = Stage::parked;
      return task->resumes.fetch_sub(1, std::memory_order_acq_rel) > 0;
    }
    if (result < 0) task->fail(result);
  }
  task->stage = Stage::telling;
  return task->children.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void release_successors(Task* task, int error) {
  std::vector<Task*> successors;
  {
    const std::lock_guard lock(task->lock);
    task->over.store(true, std::memory_order_release);
    successors.swap(task->successors);
  }
  Worker& worker = *this_worker();
  for (Task* const successor : successors) {
    if (error != OMPL_OK) successor->fail(error);
    if (successor->blockers.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    if (worker.after == nullptr && successor->priority == 0) {
      worker.after = successor;
    } else {
      enqueue(successor);
    }
  }
}

void end(Runtime& r, Task* task) {
  Task* const parent = task->parent;
  const int error = task->error.load(std::memory_order_acquire);
  if (task->context != nullptr)
    this_worker()->contexts.push_back(std::exchange(task->context, nullptr));
  release_successors(task, error);
  drop(task);
  if (parent == nullptr) return wake_all(r);
  if (error != OMPL_OK) {
    int32_t none = OMPL_OK;
    parent->children_error.compare_exchange_strong(none, error, std::memory_order_acq_rel);
  }
  if (parent->children.fetch_sub(1, std::memory_order_acq_rel) == 1) enqueue(parent);
}

// After its children: what they and it have to tell.
bool tell(Runtime& r, Task* task) {
  if (const int error = task->children_error.load(std::memory_order_acquire); error != OMPL_OK)
    task->fail(error);
  if (task->accesses != nullptr) forget_accesses(*task);
  return exchange_tags(r, task, kTold, kServed, Stage::ending);
}

}  // namespace

void advance(Task* task) {
  Runtime& r = *runtime();
  for (;;) {
    switch (task->stage) {
      case Stage::asking:
        if (!exchange_tags(r, task, kAsked, kAwaited, Stage::beginning)) return;
        break;
      case Stage::beginning:
      case Stage::in_function:
      case Stage::parked:
        if (!run(task)) return;
        break;
      case Stage::telling:
        if (!tell(r, task)) return;
        break;
      case Stage::ending:
        return end(r, task);
    }
  }
}

void unblock(Task* task) {
  if (task->blockers.fetch_sub(1, std::memory_order_acq_rel) == 1) enqueue(task);
}

Task* make_task(Runtime& r) {
  Worker* const worker = this_worker();
  Rooms rooms;
  Rooms* const own = worker != nullptr ? &worker->unused : &rooms;
  if (own->count == 0) r.memory.take(own);
  Task* const task = new (pop(own)) Task;
  if (worker == nullptr) r.memory.give(&rooms, 0);
  return task;
}

void drop(Task* task) {
  if (task->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  Worker* const worker = this_worker();
  Rooms rooms;
  Rooms* const own = worker != nullptr ? &worker->unused : &rooms;
  std::destroy_at(task);
  push(own, task);
  if (worker == nullptr || own->count > kUnused)
    runtime()->memory.give(own, worker != nullptr ? kUnused / 2 : 0);
}

}  // namespace tasklet
