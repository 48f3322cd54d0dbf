// SPDX-License-Identifier: BSD-3-Clause
// Stacks of their own, between which a thread switches (Boost.Context). A worker's loop runs on a fiber, and calls the function of
// a task as any function. If the task suspends, it keeps that fiber, with the loop below it, and the worker goes on with its
// loop on another one. So a task that never waits costs no switch.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <mutex>
#include <vector>

namespace tasklet {

struct Fiber {
  boost::context::detail::fcontext_t context = nullptr;  // where it goes on
  void* memory = nullptr;                                // guard page, then the stack
  std::size_t bytes = 0;
  void* sanitizer = nullptr;  // what ThreadSanitizer knows it as
};

// What C++ keeps per thread of the exceptions under way (the ABI's __cxa_eh_globals).
struct ExceptionState {
  void* caught = nullptr;
  unsigned uncaught = 0;
};
ExceptionState exchange_exception_state(ExceptionState state);

// The fibers of a process: made on demand, kept for the next; `most` is the limit.
class FiberPool {
 public:
  using Loop = void (*)();
  FiberPool(std::size_t bytes, std::size_t most, Loop body) : bytes_(bytes), most_(most), loop_(body) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  // A fiber that begins, or goes on, in the loop; nullptr if the limit is reached, or there is no memory.
  Fiber* acquire(bool beyond_limit);
  void release(Fiber* fiber);
  // Makes so many beforehand, as far as there is memory.
  void prepare(std::size_t count);
  [[nodiscard]] Loop loop() const { return loop_; }

 private:
  Fiber* make();

  const std::size_t bytes_, most_;
  const Loop loop_;
  std::mutex mutex_;
  std::vector<Fiber*> free_;
  std::vector<Fiber*> all_;
};

// Where a thread left its own stack.
struct ThreadStack {
  boost::context::detail::fcontext_t context = nullptr;
  void* sanitizer = nullptr;
};

// Switches from the thread's stack to a fiber; returns once something there calls leave().
void enter(ThreadStack& from, FiberPool& of, Fiber& to);
// Switches to another fiber. Returns when somebody switches to `from`, maybe in another thread.
void switch_fiber(Fiber& from, Fiber& to);
// Switches to the stack of the thread that entered.
void leave(Fiber& from, ThreadStack& to);

}  // namespace tasklet
