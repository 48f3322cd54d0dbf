// SPDX-License-Identifier: BSD-3-Clause
// Who waits for what.
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

#include "core/runtime.hpp"

namespace tasklet {
namespace {

constexpr uint32_t kMostLines = 64;

const char* name_of(const char* name) { return name == nullptr ? "a task" : name; }

[[gnu::format(printf, 2, 3)]] void add(std::string& text, const char* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text += line;
}

const char* wait_of(int32_t kind) {
  switch (kind) {
    case OMPL_TASKLET_PUT:
      return "put: waits for put_ready";
    case OMPL_TASKLET_GET:
      return "get: waits for get_ready";
    case OMPL_TASKLET_PUT_READY:
      return "put_ready: waits for the end of the put";
    default:
      return "get_ready: waits for the end of the get";
  }
}

void add_tags(std::string& text, const Runtime& r) {
  uint32_t lines = 0;
  for (std::size_t i = 0; i < 2 * std::size_t{r.config.tags} * r.size; ++i) {
    const TagPlace& place = r.places[i];
    if (!place.used.load(std::memory_order_acquire) || ++lines > kMostLines) continue;
    add(text, "  %s, tag %zu, %s of rank %zu\n", name_of(place.name.load(std::memory_order_relaxed)),
        i / 2 / r.size, wait_of(place.kind.load(std::memory_order_relaxed)), i / 2 % r.size);
  }
  if (lines > kMostLines) add(text, "  and %u more that wait for tags\n", lines - kMostLines);
}

void add_suspended(std::string& text, Runtime& r) {
  const std::lock_guard lock(r.waiting_mutex);
  uint32_t lines = 0;
  for (const Task* task = r.waiting; task != nullptr; task = task->next) {
    if (++lines > kMostLines) continue;
    add(text, "  %s, suspended: waits for %s", name_of(task->name), task->waits_for);
    add(text, task->waits_at != 0 ? ", offset 0x%" PRIx64 "\n" : "\n", task->waits_at);
  }
  if (lines > kMostLines) add(text, "  and %u more that are suspended\n", lines - kMostLines);
}

}  // namespace

void note_wait(Task& task, const char* what, uint64_t where) {
  Runtime& r = *runtime();
  const std::lock_guard lock(r.waiting_mutex);
  task.waits_for = what;
  task.waits_at = where;
  task.previous = nullptr;
  task.next = r.waiting;
  if (r.waiting != nullptr) r.waiting->previous = &task;
  r.waiting = &task;
}

void note_no_wait(Task& task) {
  Runtime& r = *runtime();
  const std::lock_guard lock(r.waiting_mutex);
  if (task.previous != nullptr) {
    task.previous->next = task.next;
  } else {
    r.waiting = task.next;
  }
  if (task.next != nullptr) task.next->previous = task.previous;
}

}  // namespace tasklet

size_t ompl_tasklet_report(char* text, size_t capacity) {
  tasklet::Runtime* const r = tasklet::runtime();
  std::string report;
  if (r != nullptr && r->open.load()) {
    tasklet::add(report, "ompl[%u] tasks: %zu thread(s), %u of them asleep\n", r->rank,
                 r->workers.size(), r->sleep.count.load());
    tasklet::add_tags(report, *r);
    tasklet::add_suspended(report, *r);
  }
  if (capacity != 0) std::snprintf(text, capacity, "%s", report.c_str());
  return report.size();
}
