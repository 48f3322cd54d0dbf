// SPDX-License-Identifier: BSD-3-Clause
#include <omnipgas/ompl_report.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>

#include "core/runtime.hpp"
#include "core/trace.hpp"

namespace tasklet {
namespace {

std::atomic<Runtime*> g_runtime{nullptr};

// After a failure of a rank the watch is set only when the next first task begins: it would be over at once, again and again.
void woken(void*, int code) {
  Runtime* const r = runtime();
  if (r == nullptr) return;
  if (code != OMPL_OK || r->finalizing.load() || watch_wake_word(*r) != OMPL_OK)
    r->wake_watched.store(false);
  // Whoever makes progress may have taken the signal that was to wake another thread.
  const Worker* const worker = this_worker();
  const bool for_another = r->sleep.in_layer.load() && (worker == nullptr || !worker->in_layer);
  // If it has nothing else to do, it looks for the work itself: handed back, it would take the signal again and again until the
  // other thread has got a core.
  if (for_another && worker != nullptr && worker->takes_next && !r->stopping.load()) {
    const std::lock_guard lock(r->sleep.mutex);
    r->sleep.signalled = false;
    return;
  }
  if (code == OMPL_OK && for_another) ompl_put_word(r->rank, r->wake_word);
}

constexpr uint32_t kPrepared = 64;  // stacks

int start_threads(std::vector<std::thread>& threads, uint32_t count) {
  try {
    for (uint32_t i = 0; i < count; ++i) threads.emplace_back([] { ompl_tasklet_work(); });
  } catch (const std::system_error&) {
    return OMPL_ERR_SYSTEM;
  }
  return OMPL_OK;
}

// Whether this rank's threads, or those of all ranks that share its memory, are more than the cores. Ranks have the same
// number of threads each, or nearly.
bool is_crowded(const Runtime& r) {
  cpu_set_t mask;
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) return false;
  const auto cores = static_cast<uint32_t>(CPU_COUNT(&mask));
  const auto threads = static_cast<uint32_t>(r.config.threads);
  uint32_t ranks = 0;
  for (uint32_t rank = 0; rank < r.size; ++rank)
    ranks += ompl_ptr(rank, r.wake_word) != nullptr ? 1 : 0;
  return threads > cores ||
         uint64_t{threads} * ranks > std::max(cores, std::thread::hardware_concurrency());
}

int make(Runtime& r) {
  r.rank = static_cast<uint32_t>(ompl_rank());
  r.size = static_cast<uint32_t>(ompl_size());
  ompl_team* team = nullptr;
  if (const int code = ompl_team_world(&team); code != OMPL_OK) return code;
  if (const int code = ompl_alloc(8 * (uint64_t{r.config.tags} * r.size + 1), &r.wake_word);
      code != OMPL_OK)
    return code;
  r.tag_words = r.wake_word + 8;
  r.crowded = is_crowded(r);
  if (r.config.checked != 0) {
    if (const int code = ompl_alloc(8, &r.checker.word); code != OMPL_OK) return code;
    r.checker.answers.resize(r.size);
  }
  r.places = std::make_unique<TagPlace[]>(2 * std::size_t{r.config.tags} * r.size);
  const uint32_t threads = static_cast<uint32_t>(r.config.threads);
  for (uint32_t i = 0; i < threads; ++i) {
    r.workers.push_back(std::make_unique<Worker>());
    r.workers.back()->victim = i;
  }
  // Whoever runs tasks for the first time need not wait for memory.
  if (!r.workers.empty()) r.memory.take(&r.workers.front()->unused);
  r.fibers = std::make_unique<FiberPool>(r.config.stack_bytes, std::max(r.config.stacks, 2 * threads),
                                         workers_loop());
  r.fibers->prepare(std::min(2 * threads, kPrepared));
  return OMPL_OK;
}

int complete(ompl_tasklet_config& config) {
  if (config.size != sizeof config || config.threads < 0 || config.threads > 1024 ||
      config.stack_bytes < 16384)
    return OMPL_ERR_ARG;
  if (config.threads == 0)
    config.threads = static_cast<int32_t>(std::clamp(std::thread::hardware_concurrency(), 1U, 1024U));
  return OMPL_OK;
}

std::size_t add_report(char* text, std::size_t capacity, void*) {
  return ompl_tasklet_report(text, capacity);
}

void destroy(Runtime* r) {
  for (const auto& worker : r->workers) {
    for (ompl_ctx* const context : worker->contexts) ompl_ctx_destroy(context);
  }
  delete r;
}

}  // namespace

int watch_wake_word(Runtime& r) {
  const ompl_condition condition = {r.wake_word, 0, OMPL_TAKE, 32};
  return ompl_flag_then(&r.wake_watch, &condition, woken, nullptr);
}

Runtime* runtime() { return g_runtime.load(std::memory_order_acquire); }
void set_runtime(Runtime* made) { g_runtime.store(made, std::memory_order_release); }

}  // namespace tasklet

using namespace tasklet;

int ompl_tasklet_init(const ompl_tasklet_config* config) {
  if (runtime() != nullptr || ompl_rank() < 0) return OMPL_ERR_STATE;
  ompl_tasklet_config wanted = OMPL_TASKLET_CONFIG_INIT;
  if (config != nullptr) wanted = *config;
  if (const int code = complete(wanted); code != OMPL_OK) return code;
  find_tracer();
  try {
    auto made = std::make_unique<Runtime>();
    made->config = wanted;
    if (const int code = make(*made); code != OMPL_OK) return code;
    set_runtime(made.release());
    ompl_report_add(add_report, nullptr);
  } catch (const std::bad_alloc&) {
    return OMPL_ERR_MEMORY;
  }
  return OMPL_OK;
}

int ompl_tasklet_finalize(void) {
  Runtime* const r = runtime();
  if (r == nullptr || r->open.load()) return OMPL_ERR_STATE;
  ompl_tasklet_serve(0);
  ompl_report_remove(add_report, nullptr);
  publish(*r, RankState::finalizing);
  const int code = ompl_barrier();
  // The watch of the wake word ends with its flag's signal.
  if (r->wake_watched.load()) {
    r->finalizing.store(true);
    ompl_put_word(r->rank, r->wake_word);
    while (r->wake_watched.load() && ompl_progress(OMPL_CTX_DEFAULT, 1'000'000) >= 0) {
    }
  }
  const uint64_t words = r->wake_word, checker = r->checker.word;
  set_runtime(nullptr);
  destroy(r);
  if (checker != 0) ompl_free(checker);
  const int freed = ompl_free(words);
  return code != OMPL_OK ? code : freed;
}

const char* ompl_tasklet_strerror(int code) {
  switch (code) {
    case OMPL_TASKLET_AGAIN:
      return "the task goes on later";
    case OMPL_TASKLET_ERR_FAILED:
      return "a task of another rank failed that the task depends on";
    case OMPL_TASKLET_ERR_EXCEPTION:
      return "a C++ exception left the function of a task";
    case OMPL_TASKLET_ERR_TAG:
      return "a tag is out of range, or two tasks of the rank use it at once";
    case OMPL_TASKLET_ERR_DEADLOCK:
      return "nobody will ever satisfy what the task waits for";
    default:
      return ompl_strerror(code);
  }
}

int ompl_tasklet_create(const ompl_tasklet_spec* spec) {
  Task* const parent = this_task();
  if (parent == nullptr) return OMPL_ERR_STATE;
  if (spec == nullptr) return OMPL_ERR_ARG;
  Runtime& r = *runtime();
  if (const int code = check(r, *spec); code != OMPL_OK) return code;
  try {
    unblock(create(r, parent, *spec));
  } catch (const std::bad_alloc&) {
    return OMPL_ERR_MEMORY;
  }
  return OMPL_OK;
}

int ompl_tasklet_open(ompl_tasklet_fn function, void* argument) {
  Runtime* const r = runtime();
  if (r == nullptr || this_worker() != nullptr) return OMPL_ERR_STATE;
  if (function == nullptr) return OMPL_ERR_ARG;
  if (r->open.exchange(true)) return OMPL_ERR_STATE;
  r->stopping.store(false);
  r->activity.fetch_add(1);
  publish(*r, RankState::running);
  ompl_tasklet_spec spec = OMPL_TASKLET_SPEC_INIT;
  spec.function = function;
  spec.argument = argument;
  spec.name = "the first task";
  try {
    r->root = create(*r, nullptr, spec);
  } catch (const std::bad_alloc&) {
    r->open.store(false);
    return OMPL_ERR_MEMORY;
  }
  r->root->references.fetch_add(1);
  if (!r->wake_watched.exchange(true) && watch_wake_word(*r) != OMPL_OK) r->wake_watched.store(false);
  unblock(r->root);
  return OMPL_OK;
}

int ompl_tasklet_work(void) {
  Runtime* const r = runtime();
  if (r == nullptr || !r->open.load()) return OMPL_ERR_STATE;
  try {
    return work(*r);
  } catch (const std::bad_alloc&) {
    return OMPL_ERR_MEMORY;
  }
}

int ompl_tasklet_close(void) {
  Runtime* const r = runtime();
  if (r == nullptr || !r->open.load() || !r->stopping.load()) return OMPL_ERR_STATE;
  const int code = r->root->error.load();
  drop(r->root);
  r->root = nullptr;
  r->activity.fetch_add(1);
  publish(*r, RankState::running);
  r->open.store(false);
  return code;
}

int ompl_tasklet_run(ompl_tasklet_fn function, void* argument) {
  if (const int code = ompl_tasklet_open(function, argument); code != OMPL_OK) return code;
  std::vector<std::thread> threads;
  const int started = start_threads(threads, static_cast<uint32_t>(ompl_tasklet_threads()) - 1);
  const int worked = ompl_tasklet_work();
  for (std::thread& thread : threads) thread.join();
  const int code = ompl_tasklet_close();
  return worked != OMPL_OK ? worked : code != OMPL_OK ? code : started;
}

int ompl_tasklet_threads(void) {
  const Runtime* const r = runtime();
  return r == nullptr ? OMPL_ERR_STATE : r->config.threads;
}

ompl_tasklet* ompl_tasklet_self(void) { return reinterpret_cast<ompl_tasklet*>(this_task()); }

int ompl_tasklet_resume(ompl_tasklet* tasklet) {
  auto* const task = reinterpret_cast<Task*>(tasklet);
  if (task == nullptr) return OMPL_ERR_ARG;
  if (task->resumes.fetch_add(1, std::memory_order_acq_rel) == -1) enqueue(task);
  return OMPL_OK;
}

ompl_ctx* ompl_tasklet_context(void) {
  Worker* const worker = this_worker();
  if (worker == nullptr || worker->task == nullptr) return OMPL_CTX_DEFAULT;
  Task& task = *worker->task;
  if (task.context != nullptr) return task.context;
  if (!worker->contexts.empty()) {
    task.context = worker->contexts.back();
    worker->contexts.pop_back();
  } else if (ompl_ctx_create(&task.context) != OMPL_OK) {
    task.context = OMPL_CTX_DEFAULT;
  }
  return task.context;
}
