// SPDX-License-Identifier: BSD-3-Clause
#include "core/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "core/task_memory.hpp"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace tasklet {
namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::transfer_t;

// Tells ThreadSanitizer which stack goes on; without it these do nothing.
#if defined(__SANITIZE_THREAD__)
[[gnu::always_inline]] inline void* sanitizer_here() { return __tsan_get_current_fiber(); }
[[gnu::always_inline]] inline void* sanitizer_make() { return __tsan_create_fiber(0); }
[[gnu::always_inline]] inline void sanitizer_destroy(void* fiber) { __tsan_destroy_fiber(fiber); }
[[gnu::always_inline]] inline void sanitizer_switch(void* fiber) { __tsan_switch_to_fiber(fiber, 0); }
#else
void* sanitizer_here() { return nullptr; }
void* sanitizer_make() { return nullptr; }
void sanitizer_destroy(void*) {}
void sanitizer_switch(void*) {}
#endif

// What a stack that is left hands to the one that goes on: where to keep the place it was left at.
struct Left {
  fcontext_t* context;
  void (*loop)();
};

void landed(const transfer_t& from) { *static_cast<Left*>(from.data)->context = from.fctx; }

void begin(transfer_t from) {
  void (*const loop)() = static_cast<Left*>(from.data)->loop;
  landed(from);
  loop();
  __builtin_unreachable();
}

thread_local FiberPool* t_pool = nullptr;
[[gnu::noinline]] void set_pool(FiberPool* pool) { t_pool = pool; }
[[gnu::noinline]] FiberPool* pool() { return t_pool; }

void jump(fcontext_t* from, fcontext_t to, void* sanitizer) {
  Left left{from, pool() == nullptr ? nullptr : pool()->loop()};
  sanitizer_switch(sanitizer);
  landed(jump_fcontext(to, &left));
}

}  // namespace

// Never inlined: __cxa_get_globals() is declared as a constant of the thread, and the thread is another one after a switch.
[[gnu::noinline, gnu::noclone]] ExceptionState exchange_exception_state(ExceptionState state) {
  asm volatile("");
  void* const globals = abi::__cxa_get_globals();
  ExceptionState before;
  std::memcpy(&before.caught, globals, sizeof before.caught);
  std::memcpy(&before.uncaught, static_cast<char*>(globals) + sizeof before.caught,
              sizeof before.uncaught);
  std::memcpy(globals, &state.caught, sizeof state.caught);
  std::memcpy(static_cast<char*>(globals) + sizeof state.caught, &state.uncaught,
              sizeof state.uncaught);
  return before;
}

FiberPool::~FiberPool() {
  for (Fiber* const fiber : all_) {
    sanitizer_destroy(fiber->sanitizer);
    ::munmap(fiber->memory, fiber->bytes);
    delete fiber;
  }
}

Fiber* FiberPool::make() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto fiber = std::make_unique<Fiber>();
  fiber->bytes = (bytes_ + page - 1) / page * page + page;
  all_.reserve(all_.size() + 1);
  free_.reserve(all_.size() + 1);  // so that release() finds room
  fiber->memory = ::mmap(nullptr, fiber->bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (fiber->memory == MAP_FAILED) return nullptr;
  if (::mprotect(fiber->memory, page, PROT_NONE) != 0) {
    ::munmap(fiber->memory, fiber->bytes);
    return nullptr;
  }
  fiber->context = boost::context::detail::make_fcontext(
      static_cast<char*>(fiber->memory) + fiber->bytes, fiber->bytes - page, begin);
  fiber->sanitizer = sanitizer_make();
  all_.push_back(fiber.get());
  return fiber.release();
}

Fiber* FiberPool::acquire(bool beyond_limit) {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    Fiber* const fiber = free_.back();
    free_.pop_back();
    return fiber;
  }
  if (!beyond_limit && all_.size() >= most_) return nullptr;
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void FiberPool::prepare(std::size_t count) {
  constexpr std::size_t kFirstUsed = 16384;  // bytes of a stack
  const std::lock_guard lock(mutex_);
  while (all_.size() < std::min(count, most_)) {
    Fiber* const fiber = make();
    if (fiber == nullptr) return;
    const std::size_t bytes = std::min(kFirstUsed, bytes_);
    populate(static_cast<char*>(fiber->memory) + fiber->bytes - bytes, bytes);
    free_.push_back(fiber);
  }
}

void FiberPool::release(Fiber* fiber) {
  const std::lock_guard lock(mutex_);
  free_.push_back(fiber);
}

void enter(ThreadStack& from, FiberPool& of, Fiber& to) {
  set_pool(&of);
  from.sanitizer = sanitizer_here();
  jump(&from.context, to.context, to.sanitizer);
  set_pool(nullptr);
}

void switch_fiber(Fiber& from, Fiber& to) {
  const ExceptionState own = exchange_exception_state({});
  jump(&from.context, to.context, to.sanitizer);
  exchange_exception_state(own);
}

void leave(Fiber& from, ThreadStack& to) { jump(&from.context, to.context, to.sanitizer); }

}  // namespace tasklet
