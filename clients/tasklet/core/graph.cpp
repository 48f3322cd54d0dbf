// SPDX-License-Identifier: BSD-3-Clause
// Dependences by memory: a task's children in the order of their creation, as OpenMP's depend clause has them.
#include <cstring>
#include <mutex>

#include "core/runtime.hpp"

namespace tasklet {
namespace {

constexpr std::size_t kManyReaders = 64;

bool is_memory(int32_t kind) { return kind >= OMPL_TASKLET_IN && kind <= OMPL_TASKLET_INOUT; }

void depend(Task* task, Task* on) {
  if (on == task) return;
  if (on->over.load(std::memory_order_acquire)) {
    if (const int error = on->error.load(std::memory_order_acquire); error != OMPL_OK)
      task->fail(error);
    return;
  }
  const std::lock_guard lock(on->lock);
  if (on->over.load(std::memory_order_relaxed)) {
    if (const int error = on->error.load(std::memory_order_acquire); error != OMPL_OK)
      task->fail(error);
    return;
  }
  on->successors.push_back(task);
  task->blockers.fetch_add(1, std::memory_order_relaxed);
}

// Readers that are over keep no writer waiting.
void forget_readers_that_are_over(Access& access) {
  std::erase_if(access.readers, [](Task* reader) {
    if (!reader->over.load(std::memory_order_acquire) || reader->error.load() != OMPL_OK) return false;
    drop(reader);
    return true;
  });
}

void read(Access& access, Task* task) {
  if (access.writer != nullptr) depend(task, access.writer);
  const std::size_t count = access.readers.size();
  if (count >= kManyReaders && (count & (count - 1)) == 0) forget_readers_that_are_over(access);
  access.readers.push_back(task);
  task->references.fetch_add(1, std::memory_order_relaxed);
}

void write(Access& access, Task* task) {
  if (access.readers.empty()) {
    if (access.writer != nullptr) depend(task, access.writer);
  } else {
    for (Task* const reader : access.readers) depend(task, reader);
  }
  for (Task* const reader : access.readers) drop(reader);
  access.readers.clear();
  if (access.writer != nullptr) drop(access.writer);
  access.writer = task;
  task->references.fetch_add(1, std::memory_order_relaxed);
}

void copy_argument(Task& task, const ompl_tasklet_spec& spec) {
  if (spec.argument_length == 0) {
    task.argument = const_cast<void*>(spec.argument);
    return;
  }
  task.argument = task.short_argument.data();
  if (spec.argument_length > task.short_argument.size()) {
    task.long_argument = std::make_unique<std::byte[]>(spec.argument_length);
    task.argument = task.long_argument.get();
  }
  std::memcpy(task.argument, spec.argument, spec.argument_length);
}

void describe(Task& task, const ompl_tasklet_spec& spec) {
  copy_argument(task, spec);
  task.function = spec.function;
  task.release = spec.release;
  task.name = spec.name;
  const int most = PriorityQueues::kMost;
  task.priority = static_cast<int8_t>(spec.priority < -most  ? -most
                                      : spec.priority > most ? most
                                                             : spec.priority);
  for (std::size_t i = 0; i < spec.dependence_count; ++i) {
    const ompl_tasklet_dependence& dependence = spec.dependences[i];
    if (is_memory(dependence.kind)) continue;
    Clause& clause = task.clauses.emplace_back();
    clause.kind = dependence.kind;
    clause.rank = dependence.rank;
    clause.tag = dependence.tag;
    clause.task = &task;
  }
  // They stay where they are from here on.
  for (Clause& clause : task.clauses) clause.task = &task;
}

}  // namespace

int check(const Runtime& r, const ompl_tasklet_spec& spec) {
  if (spec.size != sizeof spec || spec.function == nullptr) return OMPL_ERR_ARG;
  if (spec.dependence_count != 0 && spec.dependences == nullptr) return OMPL_ERR_ARG;
  if (spec.argument_length != 0 && spec.argument == nullptr) return OMPL_ERR_ARG;
  for (std::size_t i = 0; i < spec.dependence_count; ++i) {
    const ompl_tasklet_dependence& dependence = spec.dependences[i];
    if (dependence.kind < OMPL_TASKLET_IN || dependence.kind > OMPL_TASKLET_GET_READY)
      return OMPL_ERR_ARG;
    if (is_memory(dependence.kind)) continue;
    if (dependence.rank >= r.size) return OMPL_ERR_RANK;
    if (dependence.tag >= r.config.tags) return OMPL_TASKLET_ERR_TAG;
  }
  return OMPL_OK;
}

Task* create(Runtime& r, Task* parent, const ompl_tasklet_spec& spec) {
  Task* const task = make_task(r);
  describe(*task, spec);
  task->parent = parent;
  if (parent == nullptr) return task;
  parent->children.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < spec.dependence_count; ++i) {
    const ompl_tasklet_dependence& dependence = spec.dependences[i];
    if (!is_memory(dependence.kind)) continue;
    if (parent->accesses == nullptr) parent->accesses = std::make_unique<Accesses>();
    Access& access = (*parent->accesses)[dependence.address];
    if (dependence.kind == OMPL_TASKLET_IN) {
      read(access, task);
    } else {
      write(access, task);
    }
  }
  return task;
}

void forget_accesses(Task& parent) {
  for (auto& [address, access] : *parent.accesses) {
    for (Task* const reader : access.readers) drop(reader);
    if (access.writer != nullptr) drop(access.writer);
  }
  parent.accesses.reset();
}

}  // namespace tasklet
