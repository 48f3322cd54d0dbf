// SPDX-License-Identifier: BSD-3-Clause
// What a tracer is told of tasks, if one is preloaded (`omni model trace`): docs/reference/trace-format.md.
#pragma once

#include "core/task.hpp"

namespace tasklet {

// Once, before all others; looks whether there is a tracer.
void find_tracer();
// Whether there is one.
bool is_traced();
// The next ompl_flag_then() of this thread is a wait of a task: the wait's id, 0 without a tracer. `takes`: the task takes one from
// the flag by itself.
uint32_t trace_wait(bool takes);
// The task's function begins, or goes on, in this thread.
void trace_begin(Task& task);
void trace_end(const Task& task, bool suspended);

}  // namespace tasklet
