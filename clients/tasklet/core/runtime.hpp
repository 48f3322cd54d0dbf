// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the library share. Who calls whom: api -> graph, tags, waits -> executor -> fibers, queues.
#pragma once

#include <omnipgas/tasklet.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/queues.hpp"
#include "core/task.hpp"
#include "core/task_memory.hpp"

namespace tasklet {

struct Worker {
  alignas(64) Queue queue;
  Rooms unused;  // memory for tasks
  std::vector<ompl_ctx*> contexts;
  ThreadStack stack;
  Fiber* fiber = nullptr;            // that runs
  Fiber* spare = nullptr;            // to go on with if the task suspends
  Task* task = nullptr;              // that runs
  Task* after = nullptr;             // to run next, before all in the queues but raised ones
  void (*landing)(void*) = nullptr;  // to be done on the fiber that goes on
  void* landing_argument = nullptr;
  uint32_t tasks_to_progress = 1;  // before it looks at the network
  uint32_t progress_period = 1;    // tasks between the last two looks
  std::chrono::steady_clock::time_point last_progress;
  uint32_t victim = 0;
  bool working = false;
  bool in_layer = false;    // asleep there
  bool takes_next = false;  // the next task that it makes ready
};

// Threads without work: one sleeps in the layer, the others here. See Executor::sleep().
struct Sleep {
  std::mutex mutex;
  std::condition_variable woken;
  uint32_t waiting = 0;  // here
  uint32_t tokens = 0;   // of these have been woken
  std::atomic<bool> in_layer{false};
  bool signalled = false;          // the one in the layer
  std::atomic<uint32_t> count{0};  // both
};

// Who at this rank waits for a tag of another one.
struct TagPlace {
  std::atomic<bool> used{false};
  std::atomic<int32_t> kind{0};
  std::atomic<const char*> name{nullptr};
};

// What checked mode knows: checked.cpp.
enum class RankState : uint8_t { running = 0, asleep = 1, finalizing = 2 };
struct Checker {
  uint64_t word = 0;  // its offset in every segment; 0: not checked
  // Only the thread that sleeps in the layer uses the next ones.
  uint64_t beats = 0;
  uint64_t activity = UINT64_MAX;  // that everything sent is applied up to
  uint64_t gave_up = UINT64_MAX;   // the activity at which that was
  std::chrono::steady_clock::time_point last_beat;
  bool asked = false;
  uint32_t posted = 0;
  std::vector<uint64_t> before, answers;
  std::vector<ompl_handle> handles;
};

struct Runtime {
  ompl_tasklet_config config = OMPL_TASKLET_CONFIG_INIT;
  uint32_t rank = 0, size = 1;
  bool crowded = false;  // the job has more threads than cores

  // Tags: two words for each and each rank in the segment.
  uint64_t tag_words = 0;
  uint64_t wake_word = 0;
  ompl_watch wake_watch{};
  std::atomic<bool> wake_watched{false}, finalizing{false};
  std::unique_ptr<TagPlace[]>
      places;  // as the words: tag by tag, for each rank as PUT or GET, then as PUT_READY or GET_READY

  TaskMemory memory;
  std::unique_ptr<FiberPool> fibers;
  std::vector<std::unique_ptr<Worker>> workers;
  PriorityQueues raised;  // and lowered
  Queue injected;         // by threads that are no workers
  Sleep sleep;
  Task* root = nullptr;
  std::atomic<bool> open{false}, stopping{false};
  uint32_t present = 0;               // workers at work; under the mutex of `sleep`
  std::atomic<uint64_t> activity{0};  // stages that tasks have gone through

  std::mutex waiting_mutex;  // of the chain of tasks that wait for something of the layer
  Task* waiting = nullptr;

  Checker checker;
  std::thread server;
  std::atomic<bool> serving{false};
};

// Between ompl_tasklet_init() and ompl_tasklet_finalize(); else nullptr.
Runtime* runtime();
void set_runtime(Runtime* made);
// Sees to it that a signal of the wake word wakes the thread of this rank that sleeps in the layer.
int watch_wake_word(Runtime& r);

// The calling thread's worker, and its task; nullptr if there is none. Never inlined: a task that was suspended may be in another thread.
Worker* this_worker();
inline Task* this_task() {
  const Worker* const worker = this_worker();
  return worker == nullptr ? nullptr : worker->task;
}

// ---- executor.cpp
// Work of the calling thread until the first task is over.
int work(Runtime& r);
// The task's next stage may begin: some worker takes it.
void enqueue(Task* task);
// Behind all others of this worker.
void enqueue_last(Task* task);
// Suspends the running task; `then(argument)` is called once its stack is left, and sees to it that it is resumed by enqueue().
void suspend(void (*then)(void*), void* argument);
void wake_all(Runtime& r);
// The thread that sleeps in the layer: it may have to look at more than before.
void wake_layer(Runtime& r);

FiberPool::Loop workers_loop();

// ---- stages.cpp
// Takes a task from where it stands as far as it goes. On the worker's fiber; may come back in another thread.
void advance(Task* task);
// One of the things that its next stage waits for has happened.
void unblock(Task* task);
Task* make_task(Runtime& r);
void drop(Task* task);  // a reference

// ---- graph.cpp
// The error of a spec, or OMPL_OK.
int check(const Runtime& r, const ompl_tasklet_spec& spec);
// Makes a task that depends on its sisters, without starting it. Throws std::bad_alloc.
Task* create(Runtime& r, Task* parent, const ompl_tasklet_spec& spec);
void forget_accesses(Task& parent);

// ---- tags.cpp
constexpr uint32_t kFailed = 1U << 16;    // what a word of a tag grows by for a task that failed,
constexpr uint32_t kHopeless = 1U << 24;  // and if nobody will ever signal it
constexpr bool asks(int32_t kind) { return kind == OMPL_TASKLET_PUT || kind == OMPL_TASKLET_GET; }
// The offset of the word in which a rank that waits as `kind` hears of `rank`.
uint64_t tag_word(const Runtime& r, int32_t kind, uint32_t rank, uint32_t tag);
TagPlace& place_of(const Runtime& r, int32_t kind, uint32_t rank, uint32_t tag);
// Takes the tags' places at this rank for the clauses with in `kinds`. A place that is taken fails the task.
void claim_places(Runtime& r, Task& task, uint32_t kinds);
// Sends what the stage has to send, from clause `told` on; false: try again later.
bool send_tags(Runtime& r, Task& task, uint32_t kinds);
// Begins the waits of the clauses of these kinds; true if nothing is left to wait for, else the task may be elsewhere already.
bool await_tags(Runtime& r, Task& task, uint32_t kinds);
// Takes a signal from the word, which is not 0: OMPL_OK, or OMPL_TASKLET_ERR_FAILED.
int take_tag(const Runtime& r, int32_t kind, uint32_t rank, uint32_t tag);

// ---- checked.cpp
// By the one thread that does not sleep, or sleeps in the layer, all others being asleep.
void look_for_deadlock(Runtime& r);
void publish(Runtime& r, RankState state);

// ---- report.cpp
void note_wait(Task& task, const char* what, uint64_t where);
void note_no_wait(Task& task);

}  // namespace tasklet
