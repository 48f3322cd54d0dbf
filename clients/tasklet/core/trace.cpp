// SPDX-License-Identifier: BSD-3-Clause
#include "core/trace.hpp"

#include <dlfcn.h>

#include <atomic>
#include <utility>

namespace tasklet {
namespace {

// The tracer's functions (instruments/trace/ompl/tasks.cpp); null without it.
struct Tracer {
  uint32_t (*wait)(int takes) = nullptr;
  void (*begin)(uint64_t task, const char* name, const uint32_t* waits, std::size_t count) = nullptr;
  void (*end)(uint64_t task, const char* name, int suspended) = nullptr;
};
Tracer g_tracer;
std::atomic<uint64_t> g_tasks{0};

template <class Function>
void find(const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

void find_tracer() {
  Tracer found;
  find("ompl_trace_task_wait", &found.wait);
  find("ompl_trace_task_begin", &found.begin);
  find("ompl_trace_task_end", &found.end);
  g_tracer = found.wait != nullptr && found.begin != nullptr && found.end != nullptr ? found : Tracer{};
}

bool is_traced() { return g_tracer.begin != nullptr; }

uint32_t trace_wait(bool takes) { return is_traced() ? g_tracer.wait(takes ? 1 : 0) : 0; }

void trace_begin(Task& task) {
  if (!is_traced()) return;
  std::vector<uint32_t> waits;
  if (task.trace_id == 0) {
    task.trace_id = g_tasks.fetch_add(1, std::memory_order_relaxed) + 1;
    for (const Clause& clause : task.clauses)
      if (clause.trace_wait != 0 && clause.kind != OMPL_TASKLET_GET_READY)
        waits.push_back(clause.trace_wait);
  }
  if (task.trace_wait != 0) waits.push_back(std::exchange(task.trace_wait, 0));
  g_tracer.begin(task.trace_id, task.name, waits.data(), waits.size());
}

void trace_end(const Task& task, bool suspended) {
  if (is_traced()) g_tracer.end(task.trace_id, task.name, suspended ? 1 : 0);
}

}  // namespace tasklet
