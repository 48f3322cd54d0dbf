// SPDX-License-Identifier: BSD-3-Clause
// What a library of tasks tells the tracer, which it finds by name (clients/tasklet/core/trace.hpp): when a part of a task begins
// and ends in the calling thread, and for which signals it waited.
#include <utility>

#include "call.hpp"

namespace ompl::trace {

namespace {

// Names that the thread has used, by their address.
struct KnownName {
  const char* name;
  uint32_t text;
};
constexpr std::size_t kNames = 64;
constinit OMPL_TRACE_TLS thread_local KnownName names[kNames]{};
constinit OMPL_TRACE_TLS thread_local NextWatch next_watch{};

uint32_t text_of(const char* name) {
  if (name == nullptr) name = "a task";
  const auto address = reinterpret_cast<uintptr_t>(name);
  KnownName& known = names[(address ^ (address >> 8)) % kNames];
  if (known.name != name) known = {name, tracer.define_text(name)};
  return known.text;
}

// A moment between two calls. What it takes is the tracer's own time.
void note(Kind kind, void* caller, uint64_t task, const char* name, int32_t tag, const uint32_t* waits,
          std::size_t count) {
  if (!tracer.recording()) return;
  const uint32_t text = text_of(name);
  Call call(kind, caller, {.bytes = task, .request = text, .tag = tag});
  call.run([] { return OMPL_OK; });
  call.append();
  call.append_ids(count, [&](std::size_t i) { return waits[i]; });
}

}  // namespace

NextWatch take_next_watch() { return std::exchange(next_watch, {}); }

}  // namespace ompl::trace

using namespace ompl::trace;  // NOLINT(google-build-using-namespace)

extern "C" {

// The calling thread's next ompl_flag_then() is a wait of a task, whose id is returned; 0: nothing is recorded. `takes`: the task
// takes one signal from the flag by itself.
OMPL_API uint32_t ompl_trace_task_wait(int takes) {
  Thread* const thread = ompl_trace_local.thread;
  if (thread == nullptr || !tracer.recording()) return 0;
  const uint32_t id = thread->request_id();
  next_watch = {id, takes != 0};
  return id;
}

OMPL_API void ompl_trace_task_begin(uint64_t task, const char* name, const uint32_t* waits,
                                    size_t count) {
  note(Kind::kOmplTaskBegin, __builtin_return_address(0), task, name, 0, waits, count);
}

OMPL_API void ompl_trace_task_end(uint64_t task, const char* name, int suspended) {
  note(Kind::kOmplTaskEnd, __builtin_return_address(0), task, name, suspended != 0 ? 1 : 0, nullptr, 0);
}

}  // extern "C"
