// SPDX-License-Identifier: BSD-3-Clause
// The C API: one Runtime for the process, one implicit context per thread, and the functions of ompl.h as
// thin calls of both. The only global state of the library is here.
#include "omnipgas/ompl.h"

#include "api/call.hpp"
#include "core/data/fast_path.hpp"
#include "core/data/operations.hpp"
#include "core/wait/conditions.hpp"

using ompl::Context;
using ompl::Deadline;
using ompl::PeerChannel;
using ompl::api::guarded;
using ompl::api::known_context;
using ompl::api::pointer;
using ompl::api::t_context;
using ompl::api::with;

namespace {

// The slow paths, kept out of the code of the fast ones.
[[gnu::noinline]] int put(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                          size_t length, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    return ompl::put(c, pointer(src_addr), target_rank, dest_addr, length, Deadline::in(timeout_ns));
  });
}

[[gnu::noinline]] int put_word(ompl_ctx* ctx, uint32_t target_rank, uint64_t flag_addr,
                               int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    return ompl::signal(c, target_rank, {.offset = flag_addr}, Deadline::in(timeout_ns));
  });
}

[[gnu::noinline]] int put_signal(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank,
                                 uint64_t dest_addr, size_t length, uint64_t flag_addr,
                                 int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    return ompl::put_signal(c, pointer(src_addr), target_rank, dest_addr, length, {.offset = flag_addr},
                            Deadline::in(timeout_ns));
  });
}

// Outside the windows. Functions of their own, so that what falls inside needs no stack.
[[gnu::noinline]] int put_outside_window(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                                         size_t length) {
  if (PeerChannel::try_put(t_context, pointer(src_addr), target_rank, dest_addr, length))
    return OMPL_OK;
  return put(OMPL_CTX_DEFAULT, src_addr, target_rank, dest_addr, length, OMPL_FOREVER);
}

[[gnu::noinline]] int put_word_outside_window(uint32_t target_rank, uint64_t flag_addr) {
  if (PeerChannel::try_signal(t_context, target_rank, flag_addr)) return OMPL_OK;
  return put_word(OMPL_CTX_DEFAULT, target_rank, flag_addr, OMPL_FOREVER);
}

}  // namespace

extern "C" {

const char* ompl_error_detail(void) { return ompl::error_detail(); }

const char* ompl_version(void) { return OMPL_VERSION_TEXT; }

int ompl_init(void) { return ompl::api::init(); }

int ompl_finalize(void) { return guarded(ompl::api::finalize); }

int ompl_rank(void) {
  return with(nullptr, [](const Context& c) { return static_cast<int>(c.rank); });
}
int ompl_size(void) {
  return with(nullptr, [](const Context& c) { return static_cast<int>(c.ranks); });
}
int ompl_node_rank(void) {
  return with(nullptr,
              [](const Context& c) { return static_cast<int>(c.runtime->members.node_rank()); });
}
int ompl_node_size(void) {
  return with(nullptr,
              [](const Context& c) { return static_cast<int>(c.runtime->members.node_size()); });
}

int ompl_barrier(void) { return ompl_barrier_timed(OMPL_FOREVER); }

int ompl_barrier_timed(int64_t timeout_ns) {
  return with(nullptr,
              [=](Context& c) { return c.runtime->collective.barrier(c, Deadline::in(timeout_ns)); });
}

int ompl_alloc(size_t size, uint64_t* offset) {
  return with(nullptr, [=](Context& c) { return c.runtime->collective.alloc(c, size, offset); });
}

int ompl_free(uint64_t offset) {
  return with(nullptr, [=](Context& c) { return c.runtime->collective.free(c, offset); });
}

void* ompl_ptr(uint32_t rank, uint64_t offset) {
  void* found = nullptr;
  guarded([&]() -> int {
    const Context* c = ompl::api::context_of(nullptr);
    found = c == nullptr || c->ranks == 0 ? nullptr : c->runtime->memory.pointer(rank, offset);
    return OMPL_OK;
  });
  return found;
}

// The library's own copies of what ompl_inline.h expands.

int ompl_put(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length) {
  const struct ompl_window* window = &ompl_thread_windows.data;
  if (target_rank != window->rank || length > OMPL_WINDOW_BULK ||
      !ompl_window_holds(window, target_rank, dest_addr, length)) {
    return put_outside_window(src_addr, target_rank, dest_addr, length);
  }
  ompl::arch::copy(window->base + dest_addr, pointer(src_addr), length);
  return OMPL_OK;
}

int ompl_get(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length) {
  const struct ompl_window* window = &ompl_thread_windows.data;
  if (!ompl_window_holds(window, target_rank, dest_addr, length)) {
    return ompl_ctx_get(OMPL_CTX_DEFAULT, src_addr, target_rank, dest_addr, length, OMPL_FOREVER);
  }
  ompl::arch::copy(pointer(src_addr), window->base + dest_addr, length);
  return OMPL_OK;
}

int ompl_put_word(uint32_t target_rank, uint64_t flag_addr) {
  void* word = ompl_window_word(target_rank, flag_addr, sizeof(uint32_t));
  if (word == nullptr) return put_word_outside_window(target_rank, flag_addr);
  std::atomic_ref(*static_cast<uint32_t*>(word)).fetch_add(1, std::memory_order_seq_cst);
  ompl_window_changed(target_rank, flag_addr);
  return OMPL_OK;
}

void ompl_window_wake(uint32_t target_rank, uint64_t flag_addr) {
  with(nullptr, [=](Context& c) {
    c.runtime->sleepers.wake_sleepers(target_rank, flag_addr);
    return static_cast<int>(OMPL_OK);
  });
}

int ompl_wait(uint64_t flag_addr) {
  Context* c = ompl::api::t_context;
  if (c != nullptr && ompl::await_mapped(*c, flag_addr)) return OMPL_OK;
  return ompl_ctx_wait(OMPL_CTX_DEFAULT, flag_addr, OMPL_FOREVER);
}

int ompl_poll(uint64_t flag_addr) {
  return with(nullptr, [=](Context& c) { return ompl::poll(c, flag_addr); });
}

int ompl_put_signal(uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr, size_t length,
                    uint64_t flag_addr) {
  return ompl_ctx_put_signal(OMPL_CTX_DEFAULT, src_addr, target_rank, dest_addr, length, flag_addr,
                             OMPL_FOREVER);
}

int ompl_flush(void) { return ompl_ctx_flush(OMPL_CTX_DEFAULT, OMPL_FOREVER); }

int ompl_quiet(void) { return ompl_ctx_quiet(OMPL_CTX_DEFAULT, OMPL_FOREVER); }

int ompl_ctx_create(ompl_ctx** ctx) {
  return with(nullptr, [=](Context& c) {
    if (ctx == nullptr) return ompl::fail(OMPL_ERR_ARG, "ompl_ctx_create: the result pointer is null");
    *ctx = reinterpret_cast<ompl_ctx*>(c.runtime->contexts.open());
    return static_cast<int>(OMPL_OK);
  });
}

int ompl_ctx_destroy(ompl_ctx* ctx) {
  if (!ompl::api::is_own(ctx)) return OMPL_OK;
  return with(ctx, [](Context& c) { return c.runtime->contexts.close(&c); });
}

int ompl_ctx_put(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                 size_t length, int64_t timeout_ns) {
  Context* known = known_context(ctx);
  if (PeerChannel::try_put(known, pointer(src_addr), target_rank, dest_addr, length)) return OMPL_OK;
  return put(ctx, src_addr, target_rank, dest_addr, length, timeout_ns);
}

int ompl_ctx_get(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                 size_t length, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) {
    return ompl::get(c, pointer(src_addr), target_rank, dest_addr, length, Deadline::in(timeout_ns));
  });
}

int ompl_ctx_put_word(ompl_ctx* ctx, uint32_t target_rank, uint64_t flag_addr, int64_t timeout_ns) {
  if (PeerChannel::try_signal(known_context(ctx), target_rank, flag_addr)) return OMPL_OK;
  return put_word(ctx, target_rank, flag_addr, timeout_ns);
}

int ompl_ctx_put_signal(ompl_ctx* ctx, uint64_t src_addr, uint32_t target_rank, uint64_t dest_addr,
                        size_t length, uint64_t flag_addr, int64_t timeout_ns) {
  Context* known = known_context(ctx);
  if (PeerChannel::try_put_signal(known, pointer(src_addr), target_rank, dest_addr, length, flag_addr))
    return OMPL_OK;
  return put_signal(ctx, src_addr, target_rank, dest_addr, length, flag_addr, timeout_ns);
}

int ompl_ctx_wait(ompl_ctx* ctx, uint64_t flag_addr, int64_t timeout_ns) {
  return with(ctx, [=](Context& c) { return ompl::wait(c, flag_addr, Deadline::in(timeout_ns)); });
}

int ompl_ctx_flush(ompl_ctx* ctx, int64_t timeout_ns) {
  if (ctx == OMPL_CTX_SHARED) return ompl_process_quiet();
  return with(ctx, [=](Context& c) { return ompl::flush(c, Deadline::in(timeout_ns)); });
}

int ompl_ctx_quiet(ompl_ctx* ctx, int64_t timeout_ns) {
  if (ctx == OMPL_CTX_SHARED) return ompl_process_quiet();
  return with(ctx, [=](Context& c) { return ompl::quiet(c, Deadline::in(timeout_ns)); });
}

int ompl_set_yield(ompl_yield_fn hook, void* arg) {
  return with(nullptr, [=](Context& c) {
    c.runtime->yield_hook.argument = arg;
    c.runtime->yield_hook.function = hook;
    return static_cast<int>(OMPL_OK);
  });
}

int ompl_failure_ack(void) {
  return with(nullptr, [](Context& c) { return static_cast<int>(c.runtime->failures.acknowledge()); });
}

}  // extern "C"
