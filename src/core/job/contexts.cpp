// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing contexts. They are kept in one list for the hang report and never freed before the
// runtime ends, so that it can be read without a lock; closed ones are used again.
#include <new>
#include <utility>

#include "arch/device_memory.hpp"
#include "core/job/runtime.hpp"
#include "core/network/network.hpp"
#include "util/log.hpp"

namespace ompl {
namespace {

void shut(ompl_windows& windows) {
  close_window(&windows.data);
  close_window(&windows.flag);
}

}  // namespace

std::unique_ptr<Context> Runtime::make_context() {
  auto c = std::make_unique<Context>();
  c->ranks = size_;
  c->rank = rank_;
  c->bases = bases_.data();
  c->generation = &allocations_.generation();
  c->runtime = this;
  if (network_ != nullptr)
    c->preferred_slot = c->arrival_slot = c->next_slot = contexts_made_ % network_->pool.size();
  return c;
}

Context* Runtime::open_context(ompl_windows* windows) {
  const std::lock_guard lock(contexts_mutex_);
  Context* c = closed_contexts_;
  if (c != nullptr) {
    closed_contexts_ = c->next_closed;
  } else {
    c = make_context().release();
    ++contexts_made_;
    c->next = contexts_.load(std::memory_order_relaxed);
    contexts_.store(c, std::memory_order_release);
  }
  look_for_gpus();
  c->direct = settings_.statistics == "0" && !gpus_.load();
  c->statistics = OMPL_STATISTICS_INIT;
  c->searched_from = 0;
  c->host_block = 0;
  c->windows = windows;
  c->data = {};
  c->flag = {};
  return c;
}

int Runtime::close_context(Context* context) {
  const int code = quiet(*context);
  abandon_context(context);
  return code;
}

// Nothing of the thread may be touched from here on: whoever closes windows finds none.
void Runtime::abandon_context(Context* context) {
  try {
    if (network_ != nullptr) network_->sender.let_go(*context);
  } catch (const std::bad_alloc&) {
    log::warn(
        "a context has ended with a put that could not be sent for want of memory; it is sent later");
  }
  const std::lock_guard lock(contexts_mutex_);
  if (context->windows != nullptr) shut(*std::exchange(context->windows, nullptr));
  context->channels.forget_outstanding();
  context->fast = &Context::nobody;
  context->activity.thread.store(0, std::memory_order_relaxed);
  context->activity.last_seen_ns.store(0, std::memory_order_relaxed);
  context->next_closed = closed_contexts_;
  closed_contexts_ = context;
}

// A GPU's driver that was loaded since: from now on no context may take the fast paths, which do not look
// for its addresses. Called with the mutex held.
void Runtime::look_for_gpus() {
  if (gpus_.load() || !arch::gpu_driver_is_loaded()) return;
  gpus_.store(true);
  for (Context* c = contexts_.load(); c != nullptr; c = c->next) c->end_direct();
  shut_windows();
}

// No thread may use what is freed, but a window may still stand on it.
void Runtime::close_windows() {
  const std::lock_guard lock(contexts_mutex_);
  shut_windows();
}

void Runtime::shut_windows() {
  for (const Context* c = contexts_.load(); c != nullptr; c = c->next) {
    if (c->windows != nullptr) shut(*c->windows);
  }
}

}  // namespace ompl
