// SPDX-License-Identifier: BSD-3-Clause
// The workers' loop: who runs what next, and how threads without work wait.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/runtime.hpp"
#include "core/trace.hpp"

namespace tasklet {
namespace {

// A worker without work spins for so long, then yields so often, then sleeps. A yield on a core that other programs use costs a
// turn of theirs, milliseconds: what comes within the time of a message or of a short task must not cost one. Where the job
// has more threads than cores, whoever is awaited may need this one, so it spins no longer than a change of threads takes.
constexpr auto kSpin =
    std::chrono::milliseconds(3);  // a time slice, in which the awaited rank may get its core
constexpr auto kSpinIfCrowded = std::chrono::microseconds(1);
constexpr int kLooksAClock = 8;  // between two looks at the clock
constexpr int kYields = 32;
// A worker that has work looks at the network at least every so many tasks, and if they are long, about as often as this.
constexpr uint32_t kTasksAProgress = 8;
constexpr auto kProgressPeriod = std::chrono::microseconds(10);
constexpr int64_t kSlice_ns = 3'600'000'000'000;  // long, so that the layer sees that it hangs
constexpr int64_t kSliceIfChecked_ns = 20'000'000;

thread_local Worker* t_worker = nullptr;
[[gnu::noinline]] void set_worker(Worker* worker) { t_worker = worker; }

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

void land(Worker& worker) {
  if (worker.landing == nullptr) return;
  std::exchange(worker.landing, nullptr)(worker.landing_argument);
}

Task* steal(Runtime& r, Worker& worker, Take what) {
  const auto count = static_cast<uint32_t>(r.workers.size());
  for (uint32_t i = 0; i < count; ++i) {
    worker.victim = worker.victim + 1 == count ? 0 : worker.victim + 1;
    Worker& victim = *r.workers[worker.victim];
    if (&victim == &worker) continue;
    if (Task* const task = victim.queue.steal(what)) return task;
  }
  return nullptr;
}

bool anything(const Runtime& r) {
  if (!r.raised.empty(true) || !r.raised.empty(false) || !r.injected.empty()) return true;
  for (const auto& worker : r.workers)
    if (!worker->queue.empty()) return true;
  return false;
}

Task* look_for(Runtime& r, Worker& worker, Take what) {
  if (Task* const task = r.raised.take(true, what)) return task;
  if (worker.after != nullptr && (what == Take::any || worker.after->fiber != nullptr))
    return std::exchange(worker.after, nullptr);
  if (Task* const task = worker.queue.pop(what)) return task;
  if (Task* const task = r.injected.steal(what)) return task;
  if (Task* const task = steal(r, worker, what)) return task;
  return r.raised.take(false, what);
}

// Beyond the limit of stacks, suspended tasks that can go on come first: they give stacks back. If there are none, what has
// not begun may be what they wait for.
Task* look(Runtime& r, Worker& worker) {
  if (worker.spare == nullptr) worker.spare = r.fibers->acquire(false);
  if (worker.spare == nullptr) {
    if (Task* const task = look_for(r, worker, Take::suspended)) return task;
    if (worker.after == nullptr && !anything(r)) return nullptr;
    worker.spare = r.fibers->acquire(true);
    if (worker.spare == nullptr) return nullptr;  // no memory: others have to end first
  }
  return look_for(r, worker, Take::any);
}

// Callbacks make tasks ready. A worker that has nothing else takes the first of them itself, so nobody is woken for it.
void expect_work(Worker& worker) {
  worker.takes_next = worker.queue.empty() && worker.after == nullptr;
}

bool progress(Worker& worker) {
  expect_work(worker);
  const bool found = ompl_progress(OMPL_CTX_DEFAULT, 0) > 0;
  worker.takes_next = false;
  return found;
}

void sleep_in_layer(Runtime& r, Worker& worker, std::unique_lock<std::mutex>& lock) {
  Sleep& sleep = r.sleep;
  sleep.in_layer = true;
  sleep.signalled = false;
  lock.unlock();
  expect_work(worker);
  if (!r.wake_watched.exchange(true) && watch_wake_word(r) != OMPL_OK) r.wake_watched.store(false);
  const int64_t slice = r.checker.word != 0 ? kSliceIfChecked_ns : kSlice_ns;
  worker.in_layer = true;
  const int code = ompl_progress(OMPL_CTX_DEFAULT, slice);
  worker.in_layer = false;
  worker.takes_next = false;
  lock.lock();
  const bool alone = sleep.count.load() == r.present;
  if (r.checker.word != 0 && alone && code == 0 && !anything(r) && worker.queue.empty()) {
    lock.unlock();
    look_for_deadlock(r);
    lock.lock();
  }
  sleep.in_layer = false;
  // A rank has failed, and waits no longer block: nothing comes but from threads of this rank.
  if (code < 0 || !r.wake_watched.load()) sleep.woken.wait_for(lock, std::chrono::milliseconds(1));
  if (sleep.waiting > sleep.tokens) {
    ++sleep.tokens;
    sleep.woken.notify_one();
  }
}

// Returns when there may be work. Nothing is lost: whoever adds work looks at `count` after it, and a sleeper at the
// queues after it has counted itself.
void sleep(Runtime& r, Worker& worker) {
  Sleep& sleep = r.sleep;
  std::unique_lock lock(sleep.mutex);
  sleep.count.fetch_add(1, std::memory_order_seq_cst);
  if (!anything(r) && !r.stopping.load(std::memory_order_seq_cst)) {
    if (!sleep.in_layer) {
      sleep_in_layer(r, worker, lock);
    } else {
      ++sleep.waiting;
      sleep.woken.wait(lock, [&] { return sleep.tokens != 0; });
      --sleep.tokens;
      --sleep.waiting;
    }
  }
  sleep.count.fetch_sub(1, std::memory_order_seq_cst);
}

void wake_one(Runtime& r) {
  Sleep& sleep = r.sleep;
  if (sleep.count.load(std::memory_order_seq_cst) == 0) return;
  bool signal = false;
  {
    const std::lock_guard lock(sleep.mutex);
    if (sleep.waiting > sleep.tokens) {
      ++sleep.tokens;
      sleep.woken.notify_one();
    } else {
      signal = sleep.in_layer && !std::exchange(sleep.signalled, true);
    }
  }
  if (signal) ompl_put_word(r.rank, r.wake_word);
}

// Between tasks. By the clock, but a clock read after each short task would cost as much as the task.
void progress_beside_work(Worker& worker) {
  if (--worker.tasks_to_progress != 0) return;
  progress(worker);
  const auto now = std::chrono::steady_clock::now();
  const auto took = now - worker.last_progress;  // by `progress_period` tasks
  worker.last_progress = now;
  const auto fit = took.count() == 0 ? int64_t{kTasksAProgress}
                                     : std::chrono::nanoseconds(kProgressPeriod).count() *
                                           worker.progress_period / took.count();
  worker.progress_period = static_cast<uint32_t>(std::clamp<int64_t>(fit, 1, kTasksAProgress));
  worker.tasks_to_progress = worker.progress_period;
}

// How far a worker without work has come towards sleep.
class Idleness {
 public:
  explicit Idleness(const Runtime& r) : limit_(r.crowded ? kSpinIfCrowded : kSpin) {}

  [[nodiscard]] bool began() const { return looks_ != 0; }
  // Found nothing once more.
  void pass(Runtime& r, Worker& worker) {
    if (!spun_) return spin();
    if (yields_++ < kYields) {
      ::sched_yield();
    } else {
      sleep(r, worker);
      yields_ = kYields / 2;
    }
  }

 private:
  void spin() {
    relax();
    if (++looks_ % kLooksAClock != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (looks_ == kLooksAClock) {
      begin_ = now;
    } else {
      spun_ = now - begin_ >= limit_;
    }
  }

  const std::chrono::nanoseconds limit_;
  std::chrono::steady_clock::time_point begin_;
  int looks_ = 0, yields_ = 0;
  bool spun_ = false;
};

Task* next(Runtime& r, Worker& worker) {
  progress_beside_work(worker);
  for (Idleness idleness(r);;) {
    if (Task* const task = look(r, worker)) {
      // It may have taken the signal that was for a thread which sleeps.
      if (idleness.began() && anything(r)) wake_one(r);
      return task;
    }
    if (r.stopping.load(std::memory_order_acquire)) return nullptr;
    if (progress(worker)) continue;
    idleness.pass(r, worker);
  }
}

// The fiber that the worker was on is left for good; the one that goes on gives it back.
void give_back(void* fiber) {
  Worker& worker = *this_worker();
  if (worker.spare == nullptr) {
    worker.spare = static_cast<Fiber*>(fiber);
  } else {
    runtime()->fibers->release(static_cast<Fiber*>(fiber));
  }
}

void go_to(Worker& worker, Fiber& to) {
  Fiber& from = *worker.fiber;
  worker.fiber = &to;
  switch_fiber(from, to);
  land(*this_worker());
}

// On a fiber. Nothing here has a destructor: the fiber is left at any switch, and maybe never gone on with.
void loop() {
  land(*this_worker());
  for (;;) {
    Worker* const worker = this_worker();
    Task* const task = next(*runtime(), *worker);
    if (task == nullptr) {
      leave(*worker->fiber, worker->stack);
      land(*this_worker());
      continue;  // of another run
    }
    worker->task = task;
    if (task->fiber != nullptr) {
      worker->landing = give_back;
      worker->landing_argument = worker->fiber;
      go_to(*worker, *std::exchange(task->fiber, nullptr));
    } else {
      advance(task);
    }
    this_worker()->task = nullptr;
  }
}

Worker* join(Runtime& r) {
  const std::lock_guard lock(r.sleep.mutex);
  for (const auto& worker : r.workers) {
    if (worker->working) continue;
    worker->working = true;
    ++r.present;
    return worker.get();
  }
  return nullptr;
}

void part(Runtime& r, Worker& worker) {
  const std::lock_guard lock(r.sleep.mutex);
  worker.working = false;
  --r.present;
}

}  // namespace

[[gnu::noinline]] Worker* this_worker() {
  asm volatile("");  // called anew each time
  return t_worker;
}

FiberPool::Loop workers_loop() { return loop; }

void enqueue(Task* task) {
  Runtime& r = *runtime();
  Worker* const worker = this_worker();
  if (worker == nullptr) r.activity.fetch_add(1);
  if (task->priority != 0) {
    r.raised.push(task);
  } else if (worker != nullptr) {
    worker->queue.push(task);
    if (std::exchange(worker->takes_next, false)) return;
  } else {
    r.injected.push(task);
  }
  wake_one(r);
}

void enqueue_last(Task* task) {
  Worker* const worker = this_worker();
  if (worker == nullptr) return enqueue(task);
  worker->queue.push_last(task);
  wake_one(*runtime());
}

void suspend(void (*then)(void*), void* argument) {
  Worker& worker = *this_worker();
  Task* const task = worker.task;
  task->fiber = worker.fiber;
  worker.landing = then;
  worker.landing_argument = argument;
  Fiber& to = *std::exchange(worker.spare, nullptr);
  worker.task = nullptr;
  trace_end(*task, true);
  go_to(worker, to);
  trace_begin(*task);
}

void wake_layer(Runtime& r) {
  if (r.sleep.in_layer.load(std::memory_order_seq_cst)) ompl_put_word(r.rank, r.wake_word);
}

void wake_all(Runtime& r) {
  r.stopping.store(true, std::memory_order_seq_cst);
  {
    const std::lock_guard lock(r.sleep.mutex);
    r.sleep.tokens = r.sleep.waiting;
    r.sleep.woken.notify_all();
  }
  wake_layer(r);
}

int work(Runtime& r) {
  if (this_worker() != nullptr) return OMPL_ERR_STATE;
  Worker* const worker = join(r);
  if (worker == nullptr) return OMPL_ERR_STATE;
  Fiber* const fiber = r.fibers->acquire(true);
  if (fiber == nullptr) {
    part(r, *worker);
    return OMPL_ERR_MEMORY;
  }
  worker->fiber = fiber;
  set_worker(worker);
  enter(worker->stack, *r.fibers, *fiber);
  set_worker(nullptr);
  r.fibers->release(std::exchange(worker->fiber, nullptr));
  if (worker->spare != nullptr) r.fibers->release(std::exchange(worker->spare, nullptr));
  part(r, *worker);
  return OMPL_OK;
}

}  // namespace tasklet
