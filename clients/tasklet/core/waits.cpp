// SPDX-License-Identifier: BSD-3-Clause
// Calls that look as if they block. What they wait for is asked about only once the task has left its stack, so whoever
// resumes it finds it suspended.
#include "core/runtime.hpp"
#include "core/trace.hpp"

namespace tasklet {
namespace {

// It lies on the stack of the task that is suspended.
struct FlagWait {
  Task* task;
  const ompl_condition* condition;
  ompl_watch watch;
};
struct HandleWait {
  Task* task;
  ompl_handle* handle;
};
struct RequestWait {
  Task* task;
  ompl_request** request;
};

void resume(Task* task, int code) {
  task->wait_code = code;
  runtime()->activity.fetch_add(1, std::memory_order_relaxed);
  enqueue(task);
}

void on_callback(void* task, int code) { resume(static_cast<Task*>(task), code); }

void watch_flag(void* argument) {
  auto& wait = *static_cast<FlagWait*>(argument);
  Task* const task = wait.task;  // once the watch is set the stack may go on
  task->trace_wait = trace_wait(false);
  const int code = ompl_flag_then(&wait.watch, wait.condition, on_callback, task);
  if (code < 0) resume(task, code);
}

void watch_handle(void* argument) {
  const auto& wait = *static_cast<HandleWait*>(argument);
  Task* const task = wait.task;
  const int code = ompl_handle_then(wait.handle, on_callback, task);
  if (code < 0) resume(task, code);
}

void watch_request(void* argument) {
  const auto& wait = *static_cast<RequestWait*>(argument);
  Task* const task = wait.task;
  const int code = ompl_request_then(wait.request, on_callback, task);
  if (code < 0) resume(task, code);
}

void wait_for_children(void* argument) {
  Task* const task = static_cast<Task*>(argument);
  if (task->children.fetch_sub(1, std::memory_order_acq_rel) == 1) enqueue(task);
}

void go_last(void* task) { enqueue_last(static_cast<Task*>(task)); }

int suspend_for(Task& task, const char* what, uint64_t where, void (*then)(void*), void* argument) {
  note_wait(task, what, where);
  suspend(then, argument);
  note_no_wait(task);
  return task.wait_code;
}

int wait_handle(Task& task, ompl_handle* handle, const char* what, uint64_t where) {
  const int state = ompl_handle_test(OMPL_CTX_DEFAULT, handle);
  if (state != 0) return state < 0 ? state : OMPL_OK;
  HandleWait wait{&task, handle};
  return suspend_for(task, what, where, watch_handle, &wait);
}

int wait_request(Task& task, ompl_request** request) {
  const int state = ompl_request_test(OMPL_CTX_DEFAULT, request);
  if (state != 0) return state < 0 ? state : OMPL_OK;
  RequestWait wait{&task, request};
  return suspend_for(task, "a collective", 0, watch_request, &wait);
}

void yield(Task& task) {
  ompl_progress(OMPL_CTX_DEFAULT, 0);
  suspend(go_last, &task);
}

// `post()` until it finds room, then until it is complete.
template <class Post>
int until_complete(const char* what, uint64_t where, Post post) {
  Task* const task = this_task();
  if (task == nullptr) return OMPL_ERR_STATE;
  ompl_handle handle = OMPL_HANDLE_INIT;
  for (;;) {
    const int code = post(&handle);
    if (code <= 0) return code;
    if (code == OMPL_PENDING) return wait_handle(*task, &handle, what, where);
    yield(*task);
  }
}

}  // namespace

}  // namespace tasklet

using namespace tasklet;

int ompl_tasklet_wait(void) {
  Task* const task = this_task();
  if (task == nullptr) return OMPL_ERR_STATE;
  if (task->children.load(std::memory_order_acquire) != 1) {
    suspend_for(*task, "its children", 0, wait_for_children, task);
    task->children.store(1, std::memory_order_relaxed);
  }
  if (task->accesses != nullptr) forget_accesses(*task);
  return task->children_error.exchange(OMPL_OK, std::memory_order_acq_rel);
}

int ompl_tasklet_wait_all(void) {
  Task* const task = this_task();
  if (task == nullptr) return OMPL_ERR_STATE;
  const int32_t own = ompl_tasklet_wait();
  ompl_team* team = nullptr;
  if (const int code = ompl_team_world(&team); code != OMPL_OK) return code;
  ompl_coll_options options = OMPL_COLL_OPTIONS_INIT;
  options.tag = 3;
  int32_t worst = OMPL_OK;
  ompl_request* request = nullptr;
  int code = ompl_allreduce(team, &own, &worst, 1, OMPL_INT32, OMPL_MIN, &options, &request);
  if (code == OMPL_OK) code = wait_request(*task, &request);
  return own != OMPL_OK ? own : code != OMPL_OK ? code : worst;
}

int ompl_tasklet_yield(void) {
  Task* const task = this_task();
  if (task == nullptr) return OMPL_ERR_STATE;
  yield(*task);
  return OMPL_OK;
}

int ompl_tasklet_put(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length) {
  ompl_ctx* const context = ompl_tasklet_context();
  return until_complete("a put", dest_addr, [&](ompl_handle* handle) {
    return ompl_put_nb(context, src_addr, target_rank, dest_addr, length, nullptr, OMPL_LOCAL, handle);
  });
}

int ompl_tasklet_get(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length) {
  ompl_ctx* const context = ompl_tasklet_context();
  return until_complete("a get", dest_addr, [&](ompl_handle* handle) {
    return ompl_get_nb(context, src_addr, target_rank, dest_addr, length, handle);
  });
}

int ompl_tasklet_put_signal(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length,
                            uint64_t flag_addr) {
  ompl_ctx* const context = ompl_tasklet_context();
  const ompl_signal signal = {flag_addr, 1, OMPL_ADD32};
  return until_complete("a put", dest_addr, [&](ompl_handle* handle) {
    return ompl_put_nb(context, src_addr, target_rank, dest_addr, length, &signal, OMPL_LOCAL, handle);
  });
}

int ompl_tasklet_call(uint32_t target_rank, const ompl_call_request* request, uint64_t* reply) {
  ompl_ctx* const context = ompl_tasklet_context();
  return until_complete("a remote call", 0, [&](ompl_handle* handle) {
    return ompl_call_nb(context, target_rank, request, reply, handle);
  });
}

int ompl_tasklet_wait_until(const ompl_condition* condition) {
  Task* const task = this_task();
  if (task == nullptr) return OMPL_ERR_STATE;
  if (condition == nullptr) return OMPL_ERR_ARG;
  const int now = ompl_ctx_wait_until(OMPL_CTX_DEFAULT, condition, 0);
  if (now != OMPL_ERR_TIMEOUT) return now;
  FlagWait wait{task, condition, {}};
  return suspend_for(*task, "a flag", condition->flag_addr, watch_flag, &wait);
}

int ompl_tasklet_wait_flag(uint64_t flag_addr) {
  const ompl_condition condition = {flag_addr, 0, OMPL_TAKE, 32};
  return ompl_tasklet_wait_until(&condition);
}

int ompl_tasklet_wait_handle(ompl_handle* handle) {
  Task* const task = this_task();
  if (task == nullptr) return OMPL_ERR_STATE;
  return handle == nullptr ? OMPL_ERR_ARG : wait_handle(*task, handle, "an operation", 0);
}

int ompl_tasklet_wait_request(ompl_request** request) {
  Task* const task = this_task();
  if (task == nullptr) return OMPL_ERR_STATE;
  return request == nullptr ? OMPL_ERR_ARG : wait_request(*task, request);
}
