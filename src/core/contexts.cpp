// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing contexts. They are kept in one list for the hang report and never freed before the
// runtime ends, so that it can be read without a lock; closed ones are used again.
#include "core/network.hpp"
#include "core/runtime.hpp"

namespace ompl {

Context* Runtime::open_context(ompl_windows* windows) {
  const std::lock_guard lock(contexts_mutex_);
  Context* c = contexts_.load(std::memory_order_relaxed);
  uint32_t opened = 0;
  while (c != nullptr && c->in_use.load(std::memory_order_relaxed)) {
    c = c->next;
    ++opened;
  }
  if (c == nullptr) {
    c = new Context;
    c->next = contexts_.load(std::memory_order_relaxed);
    c->ranks = size_;
    c->rank = rank_;
    c->bases = bases_.data();
    c->generation = &allocations_.generation();
    c->runtime = this;
    if (network_ != nullptr) c->preferred_slot = opened % network_->slots();
    contexts_.store(c, std::memory_order_release);
  }
  c->windows = windows;
  c->data = {};
  c->flag = {};
  c->in_use.store(true, std::memory_order_relaxed);
  return c;
}

int Runtime::close_context(Context* context) {
  const int code = quiet(*context);
  abandon_context(context);
  return code;
}

void Runtime::abandon_context(Context* context) {
  const std::lock_guard lock(contexts_mutex_);
  context->windows = nullptr;
  context->outstanding.clear();
  context->touched.clear();
  context->activity.thread.store(0, std::memory_order_relaxed);
  context->activity.last_seen_ns.store(0, std::memory_order_relaxed);
  context->in_use.store(false, std::memory_order_relaxed);
}

// No thread may use what is freed, but a window may still stand on it.
void Runtime::close_windows() {
  const std::lock_guard lock(contexts_mutex_);
  for (const Context* c = contexts_.load(); c != nullptr; c = c->next) {
    if (c->windows == nullptr) continue;
    close_window(&c->windows->data);
    close_window(&c->windows->flag);
  }
}

}  // namespace ompl
