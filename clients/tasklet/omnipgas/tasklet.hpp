// SPDX-License-Identifier: BSD-3-Clause
// The C++20 interface of tasklet.h: tasks that are callables, and tasks that are coroutines. What tasklet.h says holds here.
//
// Coroutines. A task made of a function that returns Coroutine holds a stack only while it runs. It may `co_await` what the
// functions of this header return, and a child Coroutine by that name; it goes on in any thread that runs tasks.
#ifndef OMNIPGAS_TASKLET_HPP
#define OMNIPGAS_TASKLET_HPP

#include <omnipgas/tasklet.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <omnipgas/ompl_calls.hpp>
#include <span>
#include <type_traits>
#include <utility>

namespace omnipgas::tasklet {

// Dependences.
inline ompl_tasklet_dependence in(const void* address) { return {OMPL_TASKLET_IN, 0, 0, address}; }
inline ompl_tasklet_dependence out(const void* address) { return {OMPL_TASKLET_OUT, 0, 0, address}; }
inline ompl_tasklet_dependence inout(const void* address) {
  return {OMPL_TASKLET_INOUT, 0, 0, address};
}
inline ompl_tasklet_dependence put(uint32_t rank, uint32_t tag) {
  return {OMPL_TASKLET_PUT, rank, tag, nullptr};
}
inline ompl_tasklet_dependence put_ready(uint32_t rank, uint32_t tag) {
  return {OMPL_TASKLET_PUT_READY, rank, tag, nullptr};
}
inline ompl_tasklet_dependence get(uint32_t rank, uint32_t tag) {
  return {OMPL_TASKLET_GET, rank, tag, nullptr};
}
inline ompl_tasklet_dependence get_ready(uint32_t rank, uint32_t tag) {
  return {OMPL_TASKLET_GET_READY, rank, tag, nullptr};
}

// The callable of a task: called once, then destroyed, also if the task is not run.
template <class Code>
concept TaskCode = std::is_invocable_r_v<int, Code&> && std::is_trivially_copyable_v<Code>;

// Makes a task of a callable whose bytes are copied; its result is the task's. Returns as ompl_tasklet_create().
template <TaskCode Code>
int create(Code code, std::span<const ompl_tasklet_dependence> dependences = {}, int priority = 0,
           const char* name = nullptr) {
  static_assert(alignof(Code) <= 16);
  ompl_tasklet_spec spec = OMPL_TASKLET_SPEC_INIT;
  spec.function = [](void* argument) -> int { return (*static_cast<Code*>(argument))(); };
  spec.argument = &code;
  spec.argument_length = sizeof code;
  spec.dependences = dependences.data();
  spec.dependence_count = dependences.size();
  spec.priority = priority;
  spec.name = name;
  return ompl_tasklet_create(&spec);
}

}  // namespace omnipgas::tasklet

#endif  // OMNIPGAS_TASKLET_HPP
