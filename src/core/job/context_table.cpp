// SPDX-License-Identifier: BSD-3-Clause
#include "core/job/context_table.hpp"

#include <new>
#include <utility>

#include "core/data/operations.hpp"
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

ContextTable::~ContextTable() {
  for (Context* c = contexts_.load(); c != nullptr;) delete std::exchange(c, c->next);
}

std::unique_ptr<Context> ContextTable::make() {
  auto c = std::make_unique<Context>();
  c->ranks = runtime_.size();
  c->rank = runtime_.rank();
  c->bases = runtime_.memory.bases().data();
  c->generation = &runtime_.memory.allocations().generation();
  c->runtime = &runtime_;
  if (runtime_.network != nullptr)
    c->preferred_slot = c->arrival_slot = c->next_slot = made_ % runtime_.network->pool.size();
  return c;
}

Context* ContextTable::open(ompl_windows* windows) {
  const std::lock_guard lock(mutex_);
  Context* c = closed_;
  if (c != nullptr) {
    closed_ = c->next_closed;
  } else {
    c = make().release();
    ++made_;
    c->next = contexts_.load(std::memory_order_relaxed);
    contexts_.store(c, std::memory_order_release);
  }
  look_for_gpus();
  c->direct = runtime_.settings.statistics == "0" && !gpus_.load();
  c->statistics = OMPL_STATISTICS_INIT;
  c->searched_from = 0;
  c->windows = windows;
  c->data = {};
  c->flag = {};
  c->far = {};
  return c;
}

int ContextTable::close(Context* context) {
  const int code = quiet(*context);
  abandon(context);
  return code;
}

// Nothing of the thread may be touched from here on: whoever closes windows finds none.
void ContextTable::abandon(Context* context) {
  try {
    if (runtime_.network != nullptr) runtime_.network->sender.let_go(*context);
  } catch (const std::bad_alloc&) {
    log::warn(
        "a context has ended with a put that could not be sent for want of memory; it is sent later");
  }
  const std::lock_guard lock(mutex_);
  if (context->windows != nullptr) shut(*std::exchange(context->windows, nullptr));
  context->channels.forget_outstanding();
  context->fast = &Context::nobody;
  context->activity.thread.store(0, std::memory_order_relaxed);
  context->activity.last_seen_ns.store(0, std::memory_order_relaxed);
  context->next_closed = closed_;
  closed_ = context;
}

void ContextTable::look_for_gpus_again() {
  const std::lock_guard lock(mutex_);
  look_for_gpus();
}

// A GPU's driver that was loaded since: from now on no context may take the fast paths, which do not look
// for its addresses. Called with the mutex held.
void ContextTable::look_for_gpus() {
  if (runtime_.settings.gpu == "off") return;
  drivers_.look();
  if (gpus_.load() || !drivers_.any()) return;
  gpus_.store(true);
  for (Context* c = contexts_.load(); c != nullptr; c = c->next) c->end_direct();
  shut_windows();
}

void ContextTable::close_windows() {
  const std::lock_guard lock(mutex_);
  shut_windows();
}

void ContextTable::shut_windows() {
  for (const Context* c = contexts_.load(); c != nullptr; c = c->next) {
    if (c->windows != nullptr) shut(*c->windows);
  }
}

void ContextTable::close_fast_paths() const {
  for (Context* c = newest(); c != nullptr; c = c->next) c->fast = &Context::nobody;
}

bool ContextTable::anyone_blocked() const {
  for (const Context* c = newest(); c != nullptr; c = c->next) {
    if (c->activity.call.load(std::memory_order_relaxed) != Call::none) return true;
  }
  return false;
}

void ContextTable::close_all() {
  const std::lock_guard lock(mutex_);
  disown();
}

void ContextTable::disown() {
  shut_windows();
  for (Context* c = contexts_.load(); c != nullptr; c = c->next) {
    c->ranks = 0;
    c->end_direct();
  }
  if (last_ != nullptr) last_->ranks = 0;
}

}  // namespace ompl
