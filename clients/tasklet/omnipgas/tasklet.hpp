// SPDX-License-Identifier: BSD-3-Clause
// The C++20 interface of tasklet.h: tasks that are callables, and tasks that are coroutines. What tasklet.h says holds here.
//
// Errors. An omnipgas::Error that leaves a task makes its code the error of the task; any other exception is
// OMPL_TASKLET_ERR_EXCEPTION.
//
// Coroutines. A task made of a function that returns Coroutine holds a stack only while it runs. It may `co_await` what until(),
// flag(), handle(), put(), get() and call() return, and another Coroutine; it goes on in any thread that runs tasks.
#ifndef OMNIPGAS_TASKLET_HPP
#define OMNIPGAS_TASKLET_HPP

#include <omnipgas/ompl_calls.h>
#include <omnipgas/tasklet.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <omnipgas/ompl.hpp>
#include <span>
#include <type_traits>
#include <utility>

namespace omnipgas::tasklet {

using Dependences = std::span<const ompl_tasklet_dependence>;

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

// The result of a task's code; the code of an Error that leaves it.
template <class Code>
int result_of(Code& code) {
  try {
    return code();
  } catch (const Error& error) {
    return error.code();
  }
}

// The callable of a task, which is called once.
template <class Code>
concept TaskCode = std::is_invocable_r_v<int, Code&> && std::move_constructible<Code>;

// Makes a task of a callable; its result is the task's. Small ones whose bytes are their value are copied into the task,
// others live on the heap until the task is over. Returns as ompl_tasklet_create().
template <TaskCode Code>
int create(Code code, Dependences dependences = {}, int priority = 0, const char* name = nullptr) {
  ompl_tasklet_spec spec = OMPL_TASKLET_SPEC_INIT;
  spec.function = [](void* argument) -> int { return result_of(*static_cast<Code*>(argument)); };
  spec.dependences = dependences.data();
  spec.dependence_count = dependences.size();
  spec.priority = priority;
  spec.name = name;
  if constexpr (std::is_trivially_copyable_v<Code> && alignof(Code) <= 16) {
    spec.argument = &code;
    spec.argument_length = sizeof code;
    return ompl_tasklet_create(&spec);
  } else {
    auto owned = std::make_unique<Code>(std::move(code));
    spec.argument = owned.get();
    spec.release = [](void* argument) { delete static_cast<Code*>(argument); };
    const int made = ompl_tasklet_create(&spec);
    if (made == OMPL_OK) owned.release();
    return made;
  }
}

// ---- Coroutines

class [[nodiscard]] Coroutine {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  Coroutine(Coroutine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Coroutine& operator=(Coroutine&&) = delete;
  ~Coroutine() {
    if (handle_) handle_.destroy();
  }
  Handle release() { return std::exchange(handle_, nullptr); }

  // As part of another one: runs it to its end; its result.
  auto operator co_await() && noexcept;

 private:
  explicit Coroutine(Handle handle) : handle_(handle) {}
  Handle handle_;
};

struct Coroutine::promise_type {
  promise_type* root = this;                   // of the task
  std::coroutine_handle<> current;             // of the root: what goes on
  ompl_tasklet* task = nullptr;                // of the root
  std::coroutine_handle<> awaiting = nullptr;  // who co_awaits it
  int result = OMPL_OK;
  std::exception_ptr exception;

  // Goes on with who awaits it, or returns to the task.
  struct Final {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle ended) const noexcept {
      const std::coroutine_handle<> next = ended.promise().awaiting;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  Coroutine get_return_object() { return Coroutine(Handle::from_promise(*this)); }
  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] Final final_suspend() const noexcept { return {}; }
  void return_value(int code) { result = code; }
  void unhandled_exception() { exception = std::current_exception(); }

  // Its result; throws what left it.
  int take_result() {
    if (exception) std::rethrow_exception(std::exchange(exception, nullptr));
    return result;
  }
};

inline auto Coroutine::operator co_await() && noexcept {
  struct Part {
    Handle part;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    Handle await_suspend(Handle whole) const noexcept {
      part.promise().root = whole.promise().root;
      part.promise().awaiting = whole;
      return part;
    }
    [[nodiscard]] int await_resume() const { return part.promise().take_result(); }
  };
  return Part{handle_};
}

// Makes a task of a coroutine, which begins once the dependences hold. Returns as ompl_tasklet_create().
inline int create(Coroutine coroutine, Dependences dependences = {}, int priority = 0,
                  const char* name = nullptr) {
  const Coroutine::Handle handle = coroutine.release();
  handle.promise().current = handle;
  ompl_tasklet_spec spec = OMPL_TASKLET_SPEC_INIT;
  spec.function = [](void* argument) -> int {
    const auto root = Coroutine::Handle::from_address(argument);
    root.promise().task = ompl_tasklet_self();
    root.promise().current.resume();
    if (!root.done()) return OMPL_TASKLET_AGAIN;
    const auto take = [&] { return root.promise().take_result(); };
    return result_of(take);
  };
  spec.argument = handle.address();
  spec.release = [](void* argument) { Coroutine::Handle::from_address(argument).destroy(); };
  spec.dependences = dependences.data();
  spec.dependence_count = dependences.size();
  spec.priority = priority;
  spec.name = name;
  const int made = ompl_tasklet_create(&spec);
  if (made != OMPL_OK) handle.destroy();
  return made;
}

// What is common to all that a coroutine waits for. `start` is OMPL_OK if there is nothing to wait for, OMPL_PENDING once
// the callback is set, a positive OMPL_RETRY_* to be tried again, or an error. Throws the error in the end.
template <class Derived>
class TaskAwaiter {
 public:
  TaskAwaiter() = default;
  TaskAwaiter(const TaskAwaiter&) = delete;
  TaskAwaiter& operator=(const TaskAwaiter&) = delete;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  bool await_suspend(Coroutine::Handle waiting) {
    Coroutine::promise_type& root = *waiting.promise().root;
    root.current = waiting;
    task_ = root.task;
    code_ = static_cast<Derived*>(this)->start();
    if (code_ <= 0) return false;
    if (code_ == OMPL_PENDING) return true;
    retries_ = true;
    ompl_tasklet_resume(task_);  // behind what is ready
    return true;
  }
  void await_resume() {
    // A post that found no room is made again, without leaving the thread if that takes no time.
    while (std::exchange(retries_, false)) {
      ompl_tasklet_yield();
      code_ = static_cast<Derived*>(this)->start_blocking();
    }
    if (code_ < 0) throw Error(code_, ompl_tasklet_strerror(code_));
  }
  int start_blocking() { return code_; }

 protected:
  static void resumed(void* self, int code) {
    auto* const awaiter = static_cast<TaskAwaiter*>(self);
    awaiter->code_ = code;
    ompl_tasklet_resume(awaiter->task_);
  }

 private:
  ompl_tasklet* task_ = nullptr;
  int code_ = OMPL_OK;
  bool retries_ = false;
};

class FlagAwaiter : public TaskAwaiter<FlagAwaiter> {
 public:
  explicit FlagAwaiter(const ompl_condition& condition) : condition_(condition) {}
  int start() {
    const int now = ompl_ctx_wait_until(OMPL_CTX_DEFAULT, &condition_, 0);
    if (now != OMPL_ERR_TIMEOUT) return now;
    const int code = ompl_flag_then(&watch_, &condition_, resumed, static_cast<TaskAwaiter*>(this));
    return code < 0 ? code : int{OMPL_PENDING};
  }

 private:
  ompl_watch watch_ = {};
  ompl_condition condition_;
};
// Until the condition holds.
inline FlagAwaiter until(const ompl_condition& condition) { return FlagAwaiter(condition); }
// Until the flag of this rank is positive; takes one.
inline FlagAwaiter flag(uint64_t flag_addr) { return FlagAwaiter({flag_addr, 0, OMPL_TAKE, 32}); }

// `Post` makes the operation: int(ompl_handle*), as the ..._nb functions return.
template <class Post>
class OperationAwaiter : public TaskAwaiter<OperationAwaiter<Post>> {
  using Base = TaskAwaiter<OperationAwaiter<Post>>;

 public:
  explicit OperationAwaiter(Post post) : post_(std::move(post)) {}
  int start() {
    const int code = post_(&handle_);
    if (code != OMPL_PENDING) return code;
    const int set = ompl_handle_then(&handle_, Base::resumed, static_cast<Base*>(this));
    return set < 0 ? set : int{OMPL_PENDING};
  }
  // With the stack that the task has while it runs.
  int start_blocking() {
    int code = post_(&handle_);
    for (; code > OMPL_PENDING; code = post_(&handle_)) ompl_tasklet_yield();
    return code == OMPL_PENDING ? ompl_tasklet_wait_handle(&handle_) : code;
  }

 private:
  Post post_;
  ompl_handle handle_ = OMPL_HANDLE_INIT;
};

class HandleAwaiter : public TaskAwaiter<HandleAwaiter> {
 public:
  explicit HandleAwaiter(ompl_handle* handle) : handle_(handle) {}
  int start() {
    const int state = ompl_handle_test(OMPL_CTX_DEFAULT, handle_);
    if (state != 0) return state < 0 ? state : int{OMPL_OK};
    const int set = ompl_handle_then(handle_, resumed, static_cast<TaskAwaiter*>(this));
    return set < 0 ? set : int{OMPL_PENDING};
  }

 private:
  ompl_handle* handle_;
};
// Until an operation of the caller's is complete.
inline HandleAwaiter handle(ompl_handle& under_way) { return HandleAwaiter(&under_way); }

// ompl_tasklet_put() and ompl_tasklet_get().
inline auto put(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, std::size_t length) {
  return OperationAwaiter([=](ompl_handle* handle) {
    return ompl_put_nb(ompl_tasklet_context(), src_addr, target_rank, dest_addr, length, nullptr,
                       OMPL_LOCAL, handle);
  });
}
inline auto get(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, std::size_t length) {
  return OperationAwaiter([=](ompl_handle* handle) {
    return ompl_get_nb(ompl_tasklet_context(), src_addr, target_rank, dest_addr, length, handle);
  });
}
// ompl_tasklet_call(); *reply receives the function's value.
inline auto call(uint32_t target_rank, const ompl_call_request& request, uint64_t* reply) {
  return OperationAwaiter([=](ompl_handle* handle) {
    return ompl_call_nb(ompl_tasklet_context(), target_rank, &request, reply, handle);
  });
}

}  // namespace omnipgas::tasklet

#endif  // OMNIPGAS_TASKLET_HPP
